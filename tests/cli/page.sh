#!/bin/bash
# runs: long once
# The page of kolk report in a real browser: clicks, keys, numbers, source lines, hostile names, no request, a clean
# console, and no complaint of axe-core, a checker of accessibility; in light and dark, wide and as narrow as a phone; and
# on paper. KOLK is the path of the command.
# Usage: page.sh BUILD    where axe-core is kept
set -euo pipefail
. tests/help/script.sh
need_browser "$1"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$(realpath tests/cli/page.js)
kolk=$(realpath "$KOLK")
cd "$folder"

cat > node.c << 'END'
#include <stdlib.h>

void *node_new(void) {
    return malloc(100);
}
END
awk 'BEGIN {
  print "= Start"
  for (n = 1; n <= 2; n++) printf "@ 3 + %x 190\n@ 3 - %x\n", n * 4096, n * 4096
  for (n = 1; n <= 6; n++) printf "@ 1 + %x 64\n", n * 4096 + 65536
  for (n = 1; n <= 2; n++) printf "@ 2 + %x 64\n", n * 4096 + 131072
  print "= Call 1 node_new (node.c:4) < main"
  print "= Call 2 text_new < main"
  print "= Call 3 </script><script>hostile=1</script><img src=x onerror=hostile=1> < big < main"
  print "= End"
}' > its.trace
cat > item.c << 'END'
#include <stdlib.h>

void *item_new(void) {
    return malloc(64);
}

void item_drop(void *item) {
    free(item);
}
END
awk 'BEGIN {
  print "= Start"
  for (n = 1; n <= 201; n++) {
    if (n <= 200) printf "@ 1 + %x 40\n@ 3 + %x %x\n", n * 4096, n * 4096 + 1024, n
    if (n > 1) printf "@ 2 - %x\n", (n - 1) * 4096
  }
  print "= Call 1 item_new (item.c:4) < main"
  print "= Call 2 item_drop (item.c:8) < main"
  print "= Call 3 text_new < main"
  print "= Run 64 63\n= Run 64 62\n= Run 64 61"
  print "= Ran f4240 0 f4240"
  print "= End"
}' > pools.trace

awk 'function pool(name, kind, alive, waiting) {
  return sprintf("{\"name\": \"%s\", \"kind\": \"%s\", \"object_size\": 64, \"count\": %d, \"peak\": 900, \"capacity\": 1000, " \
    "\"failed\": 0, \"waiting\": %d, \"bytes_committed\": %d}", name, kind, alive, waiting, name == "sessions" ? 10 : 64000)
}
BEGIN {
  for (n = 0; n <= 720; n++)
    printf "{\"time\": %d.000, \"pools\": [%s, %s, %s]}\n", 1700000000 + 10 * n, pool("sessions", "pool", 100 + n / 3 + n * 17 % 50, 0),
      pool("requests", "shared", n * 31 % 90, n % 100 == 0 ? 3 : 0), pool("<b>names</b>", "pool", n * 13 % 70, 0)
  print "{\"time\": 1, \"pools\": [{"
}' > its.log

for name in its pools log; do
  from=$name.trace
  [[ -e $from ]] || from=its.$name
  "$kolk" report -o $name.html "$from" 2> log
done
timeout 240 node "$script" "$browser" "$folder" "$axe"
