#!/bin/bash
# Draws docs/img/web.png: the game of make web, as headless Chromium shows it after the same frames each time.
# Usage: tools/web_picture.sh [FOLDER]    where kolk.html is (default: build/web)
set -euo pipefail
page=$(realpath "${1:-build/web}/kolk.html")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/draw.js" << 'END'
const {open} = require(process.argv[2]);
(async () => {
  const [folder, page] = process.argv.slice(3), width = 1080;
  const browser = await open(process.env.BROWSER || 'chromium', folder + '/profile');
  const look = await browser.page('file://' + page, width, 800, {dark: true, still: true}); // still: no other frames pass
  const height = await look.run(`begin(true), c.step(830, 0, 0, 0, 420), draw(), write(byId('banner'), '');
    Math.round(byId('strips').getBoundingClientRect().bottom + 12)`);
  const {data} = await look.tell('Page.captureScreenshot', {clip: {x: 0, y: 0, width: width - 15, height, scale: 1}});
  require('fs').writeFileSync(folder + '/web.png', Buffer.from(data, 'base64'));
  await browser.close();
})();
END
timeout 120 node "$folder/draw.js" "$(realpath tools/browser.js)" "$folder" "$page"
pngquant --force --strip --speed 1 --output docs/img/web.png 200 "$folder/web.png"
