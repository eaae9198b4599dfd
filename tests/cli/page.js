// Uses the pages of kolk report as people do.
'use strict';
const {check, checkLook, run} = require('../help/pages.js');

// These tests run in the page.
async function testPaths(check) {
  const items = () => [...document.querySelectorAll('[role=treeitem]')];
  const item = text => items().find(node => node.textContent.startsWith(text));
  const width = text => item(text).getBoundingClientRect().width / document.getElementById('flame').clientWidth;
  const near = (a, b) => Math.abs(a - b) < 0.01;
  const press = key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  const what = () => document.getElementById('what').textContent;
  const choose = n => document.querySelector(`input[value="${n}"]`).click();

  // node_new has 600 of 800 bytes at the peak, 600 of 1,600 bytes in all, and 6 of 10 blocks.
  check('width by bytes at the peak', near(width('node_new'), 0.75));
  choose(2);
  check('width by bytes in all', near(width('node_new'), 600 / 1600));
  choose(3);
  check('width by blocks', near(width('node_new'), 0.6));
  choose(1);

  item('node_new').click();
  check('a click enlarges', near(width('node_new'), 1) && what().includes('node_new') && what().includes('600 B'));
  check('the source is shown', what().includes('node.c') && what().includes('return malloc(100);'));
  check('the line is marked', document.querySelector('#what pre .here').textContent.includes('return malloc(100);'));
  document.getElementById('all').click();
  check('show everything', near(width('node_new'), 0.75) && near(width('everything'), 1));

  item('everything').focus();
  press('ArrowDown');
  check('down', document.activeElement === item('main'));
  press('ArrowDown');
  check('down to the widest', document.activeElement === item('node_new'));
  press('ArrowRight');
  check('right', document.activeElement === item('text_new'));
  press('ArrowLeft');
  check('left', document.activeElement === item('node_new'));
  press('Enter');
  check('Enter enlarges', near(width('node_new'), 1) && document.activeElement === item('node_new'));
  press('Escape');
  check('Escape', near(width('node_new'), 0.75));
  press('Home');
  check('Home', document.activeElement === item('everything'));
  check('one place in the order of tabs', items().filter(node => node.tabIndex === 0).length === 1);

  const find = document.getElementById('find');
  find.value = 'text';
  find.dispatchEvent(new Event('input', {bubbles: true}));
  check('find', item('node_new').className === 'dim' && item('text_new').className === '');
  find.value = '';
  find.dispatchEvent(new Event('input', {bubbles: true}));

  check('numbers', document.getElementById('numbers').textContent.includes('800 B8 blocks'));
  check('the table', document.querySelector('#most tbody tr').textContent === 'node_new (node.c:4)600 B600 B6');
  check('sizes', document.querySelectorAll('#sizes tbody tr').length === 2);
  check('hostile text stays text', !window.hostile && document.body.textContent.includes('<' + '/script><script>hostile'));
  check('no run', document.getElementById('no-change').hidden);
  check('no pool', document.getElementById('all-gain').textContent.startsWith('No pool is proposed'));
}

// 200 items of 64 bytes, allocated and freed at one place each; and text of all sizes, which is left with malloc.
async function testPools(check) {
  const section = document.getElementById('pools'), articles = section.querySelectorAll('article');
  check('kolk run', document.getElementById('no-change').textContent.includes('1.0 to 3.0 % less processor time, measured in 3 runs'));
  check('one proposal', !section.hidden && articles.length === 1);
  const text = articles[0].textContent;
  check('its name', articles[0].querySelector('h3').textContent === 'item_new_pool: a pool');
  check('its gain', /It saves (an amount that|-?[0-9.]+ to -?[0-9.]+ % of the program's processor time )/.test(text));
  check('its objects', text.includes('200 objects of 64 B, at most 2 alive'));
  check('its declaration', text.includes('KOLK_POOL_TYPE(item_new_pool, your_type)') && text.includes('.capacity = 8'));
  const marked = [...articles[0].querySelectorAll('pre .here')].map(line => line.textContent.trim());
  check('where it is allocated and freed', marked.join('|') === '4      return malloc(64);|8      free(item);');
  const left = document.getElementById('left');
  left.querySelector('summary').click();
  check('what is left', left.open && left.textContent.includes('text_new') && left.textContent.includes('Sizes vary'));
}

// Three pools over two hours: requests, which waited; sessions, which creep; and <b>names</b>.
async function testLog(check) {
  const names = () => [...document.querySelectorAll('#strips h3')].map(node => node.textContent);
  const first = document.querySelector('#strips article').textContent;
  check('the order', names().join('|') === 'sessions: pool, objects of 64 B|requests: shared, objects of 64 B|<b>names</b>: pool, objects of 64 B');
  check('what creeps', /Creeping: 1[12][0-9]\.[0-9] more objects an hour|Creeping: 1[12][0-9] more/.test(first));
  check('what waited', document.querySelectorAll('#strips article')[1].querySelectorAll('svg').length === 2);
  check('the summary', document.getElementById('summary').textContent.includes('3 pools over 2.0 hours, from 722 lines; broken and left out: 1'));
  check('hostile names', document.querySelectorAll('#strips b').length === 0);
  const find = document.getElementById('find');
  find.value = 'REQ';
  find.dispatchEvent(new Event('input', {bubbles: true}));
  check('find', names().length === 1 && document.getElementById('found').textContent === '1 of 3 pools');
  find.value = '';
  find.dispatchEvent(new Event('input', {bubbles: true}));
}

run(async visit => {
  const see = (name, width, height, look, test) => visit(name + '.html', width, height, look, async page => {
    if (name === 'its' && !look.dark) {
      const {data} = await page.tell('Page.printToPDF', {displayHeaderFooter: false});
      check('printed: ' + data.length, Buffer.from(data, 'base64').subarray(0, 5).toString() === '%PDF-');
    }
    const said = await page.run(`(async said => { await (${test})((what, holds) => said.push([what, Boolean(holds)])); return said; })([])`);
    for (const [what, holds] of said) check(what, holds);
    await checkLook(page, look, `${name} ${width} ${look.dark ? 'dark' : 'light'}`);
  });
  const dark = {dark: true}, wide = [1200, 900], narrow = [390, 800];
  for (const size of [wide, narrow])
    for (const look of [{}, dark]) await see('its', ...size, look, testPaths);
  await see('pools', ...wide, {}, testPools);
  await see('pools', ...narrow, dark, testPools);
  await see('log', ...wide, dark, testLog);
  await see('log', ...narrow, {}, testLog);
});
