# The target plait::openblas: plait, with OpenBLAS for its matrix products where it is found. Used by plait's own build
# and by find_package(plait), which looks for OpenBLAS again.
set(PLAIT_OPENBLAS AUTO CACHE STRING "Use OpenBLAS for matrix products: AUTO (if found), ON or OFF")
set_property(CACHE PLAIT_OPENBLAS PROPERTY STRINGS AUTO ON OFF)

# Sets RESULT to a sentence about what was found, and ERROR to one about what must be changed, or to nothing.
function(plait_add_openblas RESULT ERROR)
    set(${ERROR} "" PARENT_SCOPE)
    add_library(plait_openblas INTERFACE)
    add_library(plait::openblas ALIAS plait_openblas)
    target_link_libraries(plait_openblas INTERFACE plait::plait)
    set(found FALSE)
    if(NOT PLAIT_OPENBLAS STREQUAL "OFF")
        find_path(PLAIT_OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas openblas-pthread
                  DOC "Folder of OpenBLAS's cblas.h")
        find_library(PLAIT_OPENBLAS_LIBRARY NAMES openblas openblasp PATH_SUFFIXES openblas openblas-pthread
                     DOC "OpenBLAS")
        mark_as_advanced(PLAIT_OPENBLAS_INCLUDE PLAIT_OPENBLAS_LIBRARY)
        # What was found once may be gone; and other libraries have a cblas.h as well.
        if(EXISTS "${PLAIT_OPENBLAS_INCLUDE}/cblas.h" AND EXISTS "${PLAIT_OPENBLAS_LIBRARY}")
            file(STRINGS ${PLAIT_OPENBLAS_INCLUDE}/cblas.h found REGEX openblas_set_num_threads)
        endif()
    endif()
    if(found)
        target_compile_definitions(plait_openblas INTERFACE PLAIT_HAS_OPENBLAS=1)
        target_include_directories(plait_openblas SYSTEM INTERFACE ${PLAIT_OPENBLAS_INCLUDE})
        target_link_libraries(plait_openblas INTERFACE ${PLAIT_OPENBLAS_LIBRARY})
        set(${RESULT} "plait: OpenBLAS: on (${PLAIT_OPENBLAS_LIBRARY})" PARENT_SCOPE)
    elseif(PLAIT_OPENBLAS STREQUAL "OFF")
        set(${RESULT} "plait: OpenBLAS: off (PLAIT_OPENBLAS is OFF: own gemm)" PARENT_SCOPE)
    else()
        set(${RESULT} "plait: OpenBLAS: off (not found: own gemm)" PARENT_SCOPE)
        if(NOT PLAIT_OPENBLAS STREQUAL "AUTO")
            set(${ERROR} "plait: PLAIT_OPENBLAS is ${PLAIT_OPENBLAS}, but OpenBLAS was not found; install \
libopenblas-dev, or set PLAIT_OPENBLAS_INCLUDE and PLAIT_OPENBLAS_LIBRARY" PARENT_SCOPE)
        endif()
    endif()
endfunction()
