// For tests of pages in a browser: prints a line for each check, and exits with 1 if one is WRONG.
// Usage: page.js BROWSER FOLDER AXE    FOLDER has the pages
'use strict';
const fs = require('fs');
const {open} = require('../../tools/browser.js');
const [path, folder, axe] = process.argv.slice(2);
let wrong = 0;

function check(what, holds) {
  if (!holds) wrong++;
  console.log((holds ? 'ok ' : 'WRONG ') + what);
}

// The page has the colors that were asked for, and room; and axe-core, a checker of accessibility, has no complaint.
async function checkLook(page, {dark}, name) {
  check(name + ': colors', await page.run(`matchMedia('(prefers-color-scheme: dark)').matches`) === Boolean(dark));
  check(name + ': no sideways scrolling', await page.run('document.documentElement.scrollWidth <= document.documentElement.clientWidth'));
  await page.run(fs.readFileSync(axe, 'utf8') + ';0');
  const found = await page.run(`axe.run().then(({violations, passes}) => ({passes: passes.length,
    violations: violations.map(rule => rule.id + ': ' + rule.help + ': ' + rule.nodes[0].html)}))`);
  for (const violation of found.violations) check(name + ': axe: ' + violation, false);
  check(`${name}: axe ran ${found.passes} rules`, found.passes > 20);
}

// tests(visit): each visit(FILE, WIDTH, HEIGHT, LOOK, TEST) opens a page of FOLDER in the same browser.
async function run(tests) {
  const browser = await open(path, folder + '/profile');
  await tests(async (file, width, height, look, test) => {
    const url = 'file://' + folder + '/' + file;
    const page = await browser.page(url, width, height, look);
    await test(page);
    for (const problem of page.problems) check(problem, false);
    check('one file, no request, a clean console', page.requests.length === 1 && page.requests[0] === url && page.problems.length === 0);
    await page.close();
  });
  await browser.close();
  process.exit(wrong ? 1 : 0);
}

module.exports = {check, checkLook, run: tests => run(tests).catch(error => {
  console.log('WRONG ' + error.stack);
  process.exit(1);
})};
