# Compiles FILE with COMPILER to assembly and looks for packed instructions: a square root (Adam's kernel has the only ones),
# and sums of four or more floats (the reductions).
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${COMPILER} -std=c++20 -O2 -fno-math-errno -I ${INCLUDE} -S -o ${OUTPUT} ${FILE} RESULT_VARIABLE code
                ERROR_VARIABLE errors)
if(NOT code EQUAL 0)
    message(FATAL_ERROR "does not compile\n${errors}")
endif()
file(READ ${OUTPUT} assembly)
foreach(pattern "sqrtps[ \t]+%[xyz]mm" "divps[ \t]" "addps[ \t]")
    if(NOT assembly MATCHES "${pattern}")
        message(FATAL_ERROR "no ${pattern} in ${OUTPUT}: a loop has not been vectorised")
    endif()
endforeach()
