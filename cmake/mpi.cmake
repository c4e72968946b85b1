# Ranks that are processes: the target plait::mpi, where MPI is found. Only its C functions are used.
set(PLAIT_MPI AUTO CACHE STRING "The target plait::mpi: AUTO (where MPI is found), ON (MPI must be found) or OFF")
set_property(CACHE PLAIT_MPI PROPERTY STRINGS AUTO ON OFF)

set(PLAIT_HAS_MPI OFF)
if(PLAIT_MPI STREQUAL "AUTO")
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI QUIET COMPONENTS CXX)
    if(MPI_CXX_FOUND)
        set(PLAIT_HAS_MPI ON)
    else()
        message(STATUS "plait: MPI: off (not found)")
    endif()
elseif(PLAIT_MPI)
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI REQUIRED COMPONENTS CXX)
    set(PLAIT_HAS_MPI ON)
else()
    message(STATUS "plait: MPI: off (PLAIT_MPI is ${PLAIT_MPI})")
endif()

if(PLAIT_HAS_MPI)
    message(STATUS "plait: MPI: on (MPI ${MPI_CXX_VERSION}, ${MPI_CXX_COMPILER})")
    add_library(plait_mpi INTERFACE)
    add_library(plait::mpi ALIAS plait_mpi)
    target_link_libraries(plait_mpi INTERFACE plait MPI::MPI_CXX)
endif()

# What tests that start processes need in their environment: as root Open MPI wants to be told twice, and UCX tells of
# every letter that nobody reads after a failure.
set(PLAIT_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_LOG_LEVEL=error)

# Sets RESULT to the command with which LAUNCHER starts processes, or to nothing; then WHY says why it cannot.
function(plait_find_launcher RESULT WHY LAUNCHER)
    set(launch ${LAUNCHER})
    execute_process(COMMAND ${LAUNCHER} --version OUTPUT_VARIABLE version ERROR_QUIET)
    if(version MATCHES "Open MPI|OpenRTE|PRRTE")
        list(APPEND launch --oversubscribe)
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E env ${PLAIT_MPI_ENVIRONMENT} ${launch} -n 2 ${CMAKE_COMMAND} -E true
                    TIMEOUT 30 RESULT_VARIABLE cannot OUTPUT_QUIET ERROR_QUIET)
    if(cannot)
        set(launch "")
        set(${WHY} "not run: ${LAUNCHER} starts no processes here (${cannot})" PARENT_SCOPE)
    endif()
    set(${RESULT} ${launch} PARENT_SCOPE)
endfunction()
