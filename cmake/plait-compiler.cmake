# Which C++ compilers plait supports. Used by plait's own build and by find_package(plait).

# Sets RESULT to a sentence that says what was found and what is needed, or to nothing when the compiler is supported.
function(plait_compiler_problem RESULT id version)
    set(${RESULT} "" PARENT_SCOPE)
    if(id STREQUAL "GNU")
        if(version VERSION_GREATER_EQUAL 12)
            return()
        endif()
        set(found "g++ ${version}")
    elseif(id STREQUAL "Clang")
        if(version VERSION_GREATER_EQUAL 16)
            return()
        endif()
        set(found "clang++ ${version}")
    elseif(id)
        set(found "${id} ${version}")
    else()
        set(found "no known C++ compiler")
    endif()
    set(${RESULT} "plait: found ${found}, but plait needs g++ 12 or later or clang++ 16 or later; \
choose one with CXX=g++-12 or -DCMAKE_CXX_COMPILER=g++-12, in a new build directory" PARENT_SCOPE)
endfunction()
