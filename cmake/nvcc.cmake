# Sets PLAIT_NVCC, where there is an nvcc.
find_program(PLAIT_NVCC NAMES nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin
             DOC "nvcc, to check that headers and kernels compile as CUDA")
