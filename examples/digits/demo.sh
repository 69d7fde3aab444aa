#!/usr/bin/env bash
# demo.sh BIN FOLDER: reads handwritten digits and shows where the time goes, with the programs of BIN. What it prints fits
# a terminal of 80 columns and 24 lines. FOLDER then has model.so, the program that README and the guides use.
set -euo pipefail
bin=$(realpath "$1")
mkdir -p "$2"
"$bin/digits" "$(dirname "${BASH_SOURCE[0]}")" "$2"
(cd "$2" && "$bin/opdyno" profile model.so --dim n=364 --top 8 -o report.html)
cat <<END
Files: $2. Next: cd $2; export PATH=\$PWD/$(realpath -s --relative-to="$2" "$1"):\$PATH
  opdyno run model.so -i images:@digits.npz:images --expect digits.npz
  opdyno profile model.so --dim n=364 --roofline
  opdyno trace view digits.events                 # a page: digits.events.html
END
