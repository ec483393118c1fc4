# Rules of the house that fail the build itself: includes go downward only (the table is in tools/check_style).
# Everything waits for skua_base, so every target is covered. The check takes about 0.1 s.
find_program(SKUA_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
add_custom_target(check_layers ALL
  COMMAND ${SKUA_PYTHON} ${PROJECT_SOURCE_DIR}/tools/check_style --root ${PROJECT_SOURCE_DIR} --only layers --quiet
  COMMENT "Layers: includes go downward only" VERBATIM)
add_dependencies(skua_base check_layers)
