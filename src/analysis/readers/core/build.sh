#!/usr/bin/env bash
# Compile core.c to core.wasm: `build.sh COMPILER...`, one for C with the target wasm32-freestanding.
# Exported is what is declared at the beginning of a line and is not static.
set -euo pipefail
cd "$(dirname "$0")"
variables=$(sed -nE 's/^(u8|i32|i64|u64|double) ([^(]*);.*/\2/p; s/^\} ([a-z_]+);$/\1/p' core.c | sed -E 's/\[[^]]*\]//g; s/= ?[^,]*//g' | tr -d ',')
functions=$(sed -nE 's/^(i32|u32) ([a-z_]+)\(.*\{.*/\2/p' core.c)
exports=(); for name in $variables $functions; do exports+=("-Wl,--export=$name"); done
"$@" -target wasm32-freestanding -O2 -nostdlib -Wall -Wextra -Werror -Wl,--no-entry -Wl,--strip-all \
  "-DSOURCE=$(gzip -c1 core.c | tail -c8 | od -An -N4 -tu4 --endian=little | tr -d ' ')u" "${exports[@]}" -o core.wasm core.c
chmod 644 core.wasm
