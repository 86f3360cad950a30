#!/bin/sh
# Prints how many compilers may run at once: one a processor, but each file that includes libtorch
# takes up to 2 GiB.
cores=$(nproc)
fitting=$(awk '/^MemAvailable:/ { print int($2 / (2 * 1024 * 1024)) }' /proc/meminfo)
jobs=$((fitting < cores ? fitting : cores))
echo $((jobs > 1 ? jobs : 1))
