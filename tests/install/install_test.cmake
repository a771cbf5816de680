# Arguments: SOURCE of the consumer, BUILD folder to install from, WORK folder (made anew), the
# GENERATOR, COMPILER and SANITIZE setting of the build, and PYTHON (or empty) with its PYTHON_DIR.
file(REMOVE_RECURSE ${WORK})

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(flags)
if(SANITIZE)
  set(flags -D CMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${WORK}/build -D CMAKE_BUILD_TYPE=Release
  -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${WORK}/prefix ${flags})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/../../../examples -B ${WORK}/examples
  -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${COMPILER}
  -D CMAKE_PREFIX_PATH=${WORK}/prefix ${flags})
run(${CMAKE_COMMAND} --build ${WORK}/examples)
execute_process(COMMAND ${WORK}/examples/entmax_rows OUTPUT_VARIABLE rows
  COMMAND_ERROR_IS_FATAL ANY)
# Row 1 at α = 2, by hand: τ = (2 + 1.5 − 1) / 2.
if(NOT rows MATCHES "alpha 2.0\n +0.7500 +0.2500 +0.0000 +0.0000\n")
  message(FATAL_ERROR "entmax_rows printed:\n${rows}")
endif()
run(${WORK}/build/operators)
run(${WORK}/prefix/bin/filigree --version)
if(PYTHON AND NOT SANITIZE)
  run(${CMAKE_COMMAND} -E env PYTHONPATH=${WORK}/prefix/${PYTHON_DIR}
    ${PYTHON} ${SOURCE}/../check_package.py ${WORK}/prefix)
endif()
