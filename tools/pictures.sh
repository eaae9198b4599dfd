#!/bin/bash
# Draws the pictures of docs/img that show results of kolk bench, by the page of kolk report, in headless Chromium.
# Usage: tools/pictures.sh KOLK [FOLDER]    the command; where to put them (default: docs/img)
set -euo pipefail
kolk=$(realpath "${1:?usage: tools/pictures.sh KOLK [FOLDER]}")
target=$(realpath "${2:-docs/img}")
result=$(realpath bench/results/amd-epyc-milan-gcc-12-bench.json)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo "tools/pictures.sh: there is no chromium" >&2
  exit 1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$kolk" report -o "$folder/page.html" "$result" 2> /dev/null
# A picture stands alone, so it takes along how the page's rules make each of its parts look.
cat >> "$folder/page.html" << 'END'
<script>
const out = document.createElement('pre');
for (const id of ['refill', 'replace', 'slow-allocs', 'slow-frees']) {
  const svg = byId(id).querySelector('svg'), copy = svg.cloneNode(true);
  const parts = [...svg.querySelectorAll('*')], copies = [...copy.querySelectorAll('*')];
  parts.forEach((part, n) => {
    const style = getComputedStyle(part), used = part.tagName === 'text' ? ['fill', 'font-weight'] : ['fill', 'stroke', 'stroke-width'];
    copies[n].removeAttribute('class');
    if (part.tagName !== 'title') copies[n].setAttribute('style', used.map(name => name + ':' + style.getPropertyValue(name)).join(';'));
  });
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [key, value] of [['width', '100%'], ['height', '100%'], ['fill', '#fff']]) ground.setAttribute(key, value);
  copy.prepend(ground);
  copy.setAttribute('font-family', 'system-ui, sans-serif');
  copy.setAttribute('font-size', '12');
  out.textContent += 'PICTURE ' + id + ' ' + new XMLSerializer().serializeToString(copy) + '\n';
}
document.body.append(out);
</script>
END
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/profile" \
  --no-first-run --blink-settings=preferredColorScheme=1 --window-size=1200,900 --dump-dom "file://$folder/page.html" \
  > "$folder/dom" 2> "$folder/log" || { cat "$folder/log" >&2; exit 1; }
python3 - "$folder/dom" "$target" << 'END'
import html, pathlib, re, sys

dom, target = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), pathlib.Path(sys.argv[2])
pictures = re.findall(r"PICTURE ([a-z-]+) (&lt;svg.*?)\n", dom)
if len(pictures) != 4:
    sys.exit(f"tools/pictures.sh: the page has {len(pictures)} pictures, not 4")
for name, text in pictures:
    text = html.unescape(text).replace("><", ">\n<")
    (target / f"bench-{name}.svg").write_text(text + "\n", encoding="utf-8")
END
