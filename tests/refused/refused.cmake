# Checks one file of programs that must be refused. The file compiles as it is; each of its cases does not:
#
#     #if defined(CASE_axis)
#     // refused axis: the axis must be a dimension of the value
#     constexpr auto y = sum(x, axis<3>);
#     #endif
#
# `// refused NAME: REGEX` gives the regular expression (CMake's) that the compiler's first error must match.
# `// everywhere NAME: REGEX` is used instead of it for compilers other than g++, which do not print computed messages.
#
# cmake -D KIND=g++|clang++|nvcc -D COMPILER=path -D FILE=file -D INCLUDE=folder -P refused.cmake
cmake_minimum_required(VERSION 3.25)

set(max_lines 15)  # of g++'s whole output: an error that scrolls away is not read

if(KIND STREQUAL "g++")
    set(flags -fsyntax-only -fno-diagnostics-show-caret)
elseif(KIND STREQUAL "clang++")
    # With the spell checker on, a misspelt case is corrected and may then be refused for the right reason.
    set(flags -fsyntax-only -fno-caret-diagnostics -fno-spell-checking)
elseif(KIND STREQUAL "nvcc")
    set(flags -x cu -arch=sm_80 -ptx -o /dev/null)
else()
    message(FATAL_ERROR "KIND is ${KIND}: g++, clang++ or nvcc")
endif()

function(compile result output)  # further arguments are flags
    execute_process(COMMAND ${COMPILER} -std=c++20 ${flags} -I ${INCLUDE} ${ARGN} ${FILE}
                    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
    set(${result} "${code}" PARENT_SCOPE)
    set(${output} "${text}" PARENT_SCOPE)
endfunction()

# The output up to the second error: later ones may follow from the first, or come from a mistake in the case itself.
function(first_error result output)
    set(rest "${output}")
    set(first "")
    string(FIND "${rest}" "error: " at)
    if(NOT at EQUAL -1)
        math(EXPR at "${at} + 7")
        string(SUBSTRING "${rest}" 0 ${at} first)
        string(SUBSTRING "${rest}" ${at} -1 rest)
        string(FIND "${rest}" ": error: " at)
        string(SUBSTRING "${rest}" 0 ${at} rest)
    endif()
    set(${result} "${first}${rest}" PARENT_SCOPE)
endfunction()

# Sets `problem` to why a case's outcome is not what it must be, or to nothing.
function(judge name regex code output)
    set(crash "internal compiler error|internal error|PLEASE submit|Segmentation fault|core dumped|No such file|file not found|cannot open source file|could not open")
    string(REGEX MATCHALL "\n" lines "${output}")
    list(LENGTH lines n_lines)
    first_error(error "${output}")
    set(problem "" PARENT_SCOPE)
    if(code STREQUAL "0")
        set(problem "compiles, but must be refused" PARENT_SCOPE)
    elseif(NOT code MATCHES "^[0-9]+$" OR "${output}" MATCHES "${crash}")
        set(problem "the compiler failed" PARENT_SCOPE)
    elseif(NOT "${error}" MATCHES "${regex}")
        set(problem "refused for another reason than \"${regex}\"" PARENT_SCOPE)
    elseif(KIND STREQUAL "g++" AND n_lines GREATER max_lines)
        set(problem "the error takes ${n_lines} lines, more than ${max_lines}" PARENT_SCOPE)
    endif()
endfunction()

function(fail why)
    message(NOTICE "${FILE}: ${why}")  # in one piece, unlike an error's text, which is wrapped
    message(FATAL_ERROR "refused.cmake failed")
endfunction()

if(NOT EXISTS ${FILE})
    fail("no such file")
endif()
file(READ ${FILE} text)
string(REGEX MATCHALL "CASE_[A-Za-z0-9_]+" used "${text}")
string(REGEX MATCHALL "// refused [A-Za-z0-9_]+: " described "${text}")
list(TRANSFORM used REPLACE "^CASE_" "")
list(TRANSFORM described REPLACE "^// refused (.*): $" "\\1")
list(LENGTH described n_cases)
list(REMOVE_DUPLICATES used)
list(SORT used)
list(SORT described)
if(n_cases EQUAL 0)
    fail("no `// refused NAME: regex`")
elseif(NOT used STREQUAL described)
    fail("the cases (${used}) are not those described, once each (${described})")
endif()

compile(code output)
if(NOT code STREQUAL "0")
    fail("must compile when no case is defined\n${output}")
endif()

set(n_failed 0)
foreach(name IN LISTS described)
    string(REGEX MATCH "// refused ${name}: ([^\n]+)" found "${text}")
    set(regex "${CMAKE_MATCH_1}")
    if(NOT KIND STREQUAL "g++" AND "${text}" MATCHES "// everywhere ${name}: ([^\n]+)")
        set(regex "${CMAKE_MATCH_1}")
    endif()
    compile(code output -DCASE_${name})
    judge(${name} "${regex}" "${code}" "${output}")
    if(problem)
        math(EXPR n_failed "${n_failed} + 1")
        message(NOTICE "${FILE}: case ${name}: ${problem}\n${output}")
    endif()
endforeach()
if(n_failed GREATER 0)
    fail("${n_failed} of ${n_cases} cases are not refused as they must be")
endif()
message(STATUS "${n_cases} refused cases")
