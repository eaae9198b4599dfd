// The small pools of classics.c, below the game. This follows page.js, in the same script.

function readClassics() {
  let at = c.classics();
  const next = n => [...words((at += 4 * n) - 4 * n, n)];
  const [available, lives, bytes, [firstFree, used]] = [next(2), [next(15), next(15)], next(8), next(2)];
  const [handles, valid, items, waiting] = [next(6), next(6), next(4), next(4)];
  const [n, producers, consumers, isShutDown, newest, removed] = next(6);
  return {available, lives, bytes, firstFree, used, handles, valid, items: items.slice(0, n), waiting: waiting.slice(0, producers),
    consumers: Array(consumers).fill(0), isShutDown, newest, removed};
}

// A card with buttons, and with cells to click if there are any: Tab reaches one of them, and arrows the others. Each
// action returns what has happened, in words.
function classic(title, note, buttons, cells, click) {
  const card = add(byId('classics'), 'section', null, {class: 'card classic', 'aria-label': title});
  const head = add(card, 'div', null, {class: 'head'});
  add(head, 'h2', title);
  const figures = add(head, 'span', '', {class: 'figures'});
  add(card, 'p', note, {class: 'note'});
  const strip = add(card, 'div', null, {class: 'cells', role: 'group', 'aria-label': 'slots of ' + title});
  const row = add(card, 'div', null, {class: 'row'}), said = add(card, 'p', '', {class: 'note', role: 'status'});
  const button = (parent, text, action) => add(parent, 'button', text, {type: 'button'}).addEventListener('click', () => {
    write(said, action());
    showClassics();
  });
  for (let n = 0; n < cells; n++) button(strip, '', () => click(n));
  for (const [name, action] of buttons) button(row, name, action);
  const choose = cell => { for (const each of strip.children) each.tabIndex = each === cell ? 0 : -1; };
  if (cells) choose(strip.firstChild);
  strip.addEventListener('focusin', event => choose(event.target));
  strip.addEventListener('keydown', ({key, target}) => {
    const next = {ArrowRight: target.nextSibling, ArrowLeft: target.previousSibling}[key];
    if (next) next.focus();
  });
  return {strip, figures};
}

const hex = byte => byte.toString(16).padStart(2, '0'), ofHandle = handle => `${handle} = ${handle >> 8} << 8 | 0x${hex(handle & 255)}`;
const got = (call, slot) => slot < 0 ? call + ': NULL, the pool is full' : `${call}: slot ${slot}`;
const gotPed = handle => handle < 0 ? 'New: NULL, the pool is full' : 'New: handle ' + ofHandle(handle);

const bitpool = classic('Bitpool', 'A bit for each object, 1 if it is free. Click a 0 to return it. A click on any 1 gets the lowest one.',
  [['GetObject', () => got('GetObject', c.allocate(0))]], 15,
  n => readClassics().lives[0][n] ? (c.click(0, n), 'ReturnObject: slot ' + n) : got('GetObject', c.click(0, n)));
const holes = classic('A pool with holes', 'A cell has the number of its slot\'s life. Click one to make a hole. The lowest hole is filled first.',
  [['Add', () => got('Add', c.allocate(1))]], 12,
  n => readClassics().lives[1][n] ? (c.click(1, n), 'Remove: slot ' + n) : got('Add', c.click(1, n)));
const gta = classic('The GTA trilogy\'s pool', 'A byte for each slot: bit 7 if it is free, and a seed. Click one to free it, or to allocate there.',
  [['New', () => gotPed(c.allocate(2))]], 8,
  n => readClassics().bytes[n] & 128 ? gotPed(c.click(2, n)) : (c.click(2, n), 'Delete: slot ' + n));
const kept = document.createElement('ul');
kept.className = 'cells handles';
kept.setAttribute('aria-label', 'handles, the latest first');
gta.strip.after(kept);

// Says what became of a call, which joins a line instead of blocking.
function call(run, line, full, name) {
  const before = readClassics()[line].length, isDone = run() === 0, now = readClassics();
  if (isDone) return name(now, isDone);
  if (now[line].length > before) return `${name(now)}: blocked, the queue is ${full}`;
  return name(now) + (before ? ': no more than four can wait here' : ': KOLK_SHUTDOWN');
}

const queue = classic('BlockingQueue', 'It has room for four. This page has one thread: a call that would block waits in a line here, ' +
  'and tries again after each other call.', [
  ['Add', () => call(c.add, 'waiting', 'full', ({newest}) => 'Add ' + newest)],
  ['Remove', () => call(c.remove, 'consumers', 'empty', ({removed}, isDone) => isDone ? 'Remove: ' + removed : 'Remove')],
  ['Shutdown', () => (c.stop(), 'Shutdown: whoever waits returns KOLK_SHUTDOWN')],
  ['Reopen', () => (c.reopen(), 'Reopen')],
  ['Clear', () => `Clear: ${c.clear()} dropped`]]);

function showCells({strip}, show) {
  [...strip.children].forEach((cell, n) => {
    const [text, className, label] = show(n);
    write(cell, text);
    cell.className = className;
    cell.setAttribute('aria-label', `slot ${n}: ${label}`);
  });
}

function showQueue({items, waiting, consumers, isShutDown}) {
  const show = (text, className) => add(queue.strip, 'span', text, {class: className});
  queue.strip.replaceChildren();
  [...waiting].reverse().forEach(item => show(`adds ${item}`, 'waits'));
  add(queue.strip, 'i', '→');
  for (let n = 3; n >= 0; n--) n < items.length ? show(String(items[n]), 'used') : show('', '');
  add(queue.strip, 'i', '→');
  consumers.forEach(() => show('removes', 'waits'));
  write(queue.figures, `${items.length} of 4${isShutDown ? ', shut down' : ''}`);
}

function showClassics() {
  const now = readClassics(), [bits, lives] = now.lives, lowest = lives.indexOf(0), isFree = n => now.bytes[n] & 128;
  const hole = n => n === lowest ? ['–', 'next', 'the lowest hole'] : ['–', '', 'a hole'];
  showCells(bitpool, n => bits[n] ? ['0', 'used', 'in use'] : ['1', '', 'free']);
  showCells(holes, n => lives[n] ? [String(lives[n]), 'used', 'life ' + lives[n]] : hole(n));
  showCells(gta, n => [hex(now.bytes[n]), isFree(n) ? '' : 'used', `${isFree(n) ? 'free' : 'used'}, seed ${now.bytes[n] & 127}`]);
  write(bitpool.figures, `${now.available[0]} of 15 available`);
  write(holes.figures, `${12 - now.available[1]} of 12 alive`);
  write(gta.figures, `${now.used} of 8 used, first_free ${now.firstFree}`);
  kept.replaceChildren();
  now.handles.forEach((handle, n) => {
    if (handle >= 0) add(kept, 'li', ofHandle(handle) + (now.valid[n] ? '' : ': stale'), {class: now.valid[n] ? '' : 'stale'});
  });
  showQueue(now);
}

showClassics();
