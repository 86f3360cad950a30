# Installation and the CMake package: filled in as targets come.
