# Compiles each header of INCLUDE/FOLDER alone with COMPILER and FLAGS, syntax only. With nvcc: the headers of FOLDER
# and its subfolders as one CUDA source, beside OUTPUT, with HOST as the host compiler. Headers that match LEFT_OUT are
# not compiled.
cmake_minimum_required(VERSION 3.25)

separate_arguments(flags UNIX_COMMAND "${FLAGS}")
set(failed "")
string(REGEX MATCHALL "-isystem [^ ]+" includes_of_others "${FLAGS}")
list(JOIN includes_of_others " " includes_of_others)
separate_arguments(includes_of_others UNIX_COMMAND "${includes_of_others}")

macro(leave_out)
    if(LEFT_OUT)
        list(FILTER headers EXCLUDE REGEX "${LEFT_OUT}")
    endif()
endmacro()

if(KIND STREQUAL "nvcc")
    file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/${FOLDER}/*.hpp)
    leave_out()
    set(source ${OUTPUT}/all_headers.cu)
    list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE includes)
    list(JOIN includes "" includes)
    file(WRITE ${source} "${includes}")
    execute_process(COMMAND ${COMPILER} -std=c++20 -arch=sm_80 -Werror all-warnings -ccbin ${HOST} ${includes_of_others} -I ${INCLUDE}
                            -c ${source} -o ${OUTPUT}/all_headers.o RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        set(failed ${source})
    endif()
else()
    file(GLOB headers RELATIVE ${INCLUDE} ${INCLUDE}/${FOLDER}/*.hpp)
    leave_out()
    foreach(header IN LISTS headers)
        execute_process(COMMAND ${COMPILER} -std=c++20 ${flags} -fsyntax-only -I ${INCLUDE} -include ${header}
                                -x c++ /dev/null RESULT_VARIABLE result)
        if(NOT result EQUAL 0)
            list(APPEND failed ${header})
        endif()
    endforeach()
endif()

list(LENGTH headers count)
if(count EQUAL 0)
    message(FATAL_ERROR "no headers in ${INCLUDE}/${FOLDER}")
elseif(failed)
    list(JOIN failed ", " failed)
    message(FATAL_ERROR "does not compile: ${failed}")
endif()
message(STATUS "${count} headers")
