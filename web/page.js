'use strict';
const still = matchMedia('(prefers-reduced-motion: reduce)');
const byId = id => document.getElementById(id);
const count = n => n.toLocaleString('en-US');

function add(parent, name, text, attributes) {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined && text !== null) node.textContent = text;
  return parent.appendChild(node);
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// ---- game.c and classics.c ---------------------------------------------------------------------------------------------

const program = new WebAssembly.Module(Uint8Array.from(atob(byId('wasm').textContent), c => c.charCodeAt(0)));

// What kolk asks of a system gets 0 as the answer: there is no environment, and nobody else.
function start() {
  const imports = {};
  for (const {module, name} of WebAssembly.Module.imports(program)) (imports[module] ??= {})[name] = () => 0;
  let its;
  imports.wasi_snapshot_preview1.environ_sizes_get = (n, size) => {
    const memory = new DataView(its.memory.buffer);
    memory.setUint32(n, 0, true);
    memory.setUint32(size, 0, true);
    return 0;
  };
  its = new WebAssembly.Instance(program, imports).exports;
  its._initialize();
  if (its.make() !== 0) throw new Error('the pools could not be made');
  return its;
}

const c = start();
const words = (at, n) => new Int32Array(c.memory.buffer, at, n), floats = (at, n) => new Float32Array(c.memory.buffer, at, n);

// The members of struct figures, in their order.
const members = ['frame', 'score', 'ships', 'shield', 'over', 'kept', 'playsItself',
  'lives', 'checks', 'mistakes', 'rewinds', 'refusedBoss', 'bossParts'];
const poolMembers = ['count', 'capacity', 'peak', 'failed', 'evictions'], places = ['x', 'y', 'targetX', 'targetY'];
const HIGH = 160, UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8, FIRE = 16, REWIND = 32, POINT = 64;
const SPARK = 0, CORE = 1, PLATE = 2, BULLET = 3, ENEMY = 4, ROCK = 5, ROW = 6, FIRED = 0, BELT = 1, LIT = 2, MIXED = 3;

function read() {
  let at = c.figures();
  const named = (names, numbers) => Object.fromEntries(names.map((name, n) => [name, numbers[n]]));
  const next = n => words((at += 4 * n) - 4 * n, n);
  const now = named(members, next(members.length));
  now.pools = [FIRED, BELT, LIT, MIXED].map(() => named(poolMembers, next(poolMembers.length)));
  [now.things] = next(1);
  return Object.assign(now, named(places, floats(at, places.length)));
}

// ---- Light -------------------------------------------------------------------------------------------------------------

const fire = [[.05, .06, .4], [.28, .1, .85], [.8, .08, .5], [1, .22, .15], [1, .62, .15], [1.4, 1.3, .9]];
const AGES = 16, HALO = 16;

function between(ramp, place) {
  const step = place * (ramp.length - 1), below = Math.min(Math.floor(step), ramp.length - 2);
  return ramp[below].map((light, n) => light + (ramp[below + 1][n] - light) * (step - below));
}

function color(light, alpha = 1) {
  const [r, g, b] = light.map(part => Math.round(255 * Math.pow(1 - Math.exp(-2 * part), 1 / 1.8)));
  return `rgb(${r} ${g} ${b} / ${alpha})`;
}

// A soft disc of light.
function halo(style, radius) {
  const canvas = document.createElement('canvas'), paint = canvas.getContext('2d');
  canvas.width = canvas.height = 2 * radius;
  const fade = paint.createRadialGradient(radius, radius, 0, radius, radius, radius);
  [[0, 1], [.14, .9], [.22, .3], [.5, .08], [1, 0]].forEach(([at, alpha]) => fade.addColorStop(at, style(alpha)));
  paint.fillStyle = fade;
  paint.fillRect(0, 0, 2 * radius, 2 * radius);
  return canvas;
}

const sparks = Array.from({length: AGES}, (_, age) => halo(alpha => color(between(fire, age / (AGES - 1)), alpha), HALO));
const shot = halo(alpha => `rgb(150 232 255 / ${alpha})`, HALO), enemy = halo(alpha => `rgb(255 120 70 / ${alpha})`, 2 * HALO);
const boss = '#ff5fd2', hue = slot => `hsl(${slot * 67 % 360} 75% 68%)`;
const noise = n => Math.abs(Math.sin(127.1 * n) * 43758.5453 % 1);
const stars = Array.from({length: 130}, (_, n) => ({x: noise(n), y: noise(n + .3), near: .15 + noise(n + .6)}));

// ---- The sky -----------------------------------------------------------------------------------------------------------

// Returns the canvas's context, in which a unit is a pixel of the page, and its size.
function canvasOf(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, scale = Math.min(devicePixelRatio, 2);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const paint = canvas.getContext('2d');
  paint.setTransform(scale, 0, 0, scale, 0, 0);
  paint.clearRect(0, 0, width, height);
  return {paint, width, height};
}

// A line that glows.
function outline(paint, style) {
  paint.strokeStyle = style;
  paint.globalAlpha = .22;
  paint.lineWidth = 3.6;
  paint.stroke();
  paint.globalAlpha = 1;
  paint.lineWidth = 1;
  paint.stroke();
}

function polygon(paint, points) {
  paint.beginPath();
  points.forEach(([x, y]) => paint.lineTo(x, y));
  paint.closePath();
}

const around = (n, radius) => Array.from({length: n}, (_, k) => {
  const angle = 2 * Math.PI * k / n, far = radius(k);
  return [far * Math.cos(angle), far * Math.sin(angle)];
});

// Each draws a thing of its kind at the origin.
const draws = {
  [SPARK](paint, {light, size}) {
    const wide = size > 0 ? 4 + 6 * light : 0;
    paint.drawImage(sparks[Math.round(light * (AGES - 1))], -wide, -wide, 2 * wide, 2 * wide);
  },
  [CORE](paint, {light}) {
    paint.drawImage(enemy, -34, -34, 68, 68);
    paint.fillStyle = '#2a0a26';
    polygon(paint, around(6, () => 12));
    paint.fill();
    outline(paint, boss);
    paint.lineWidth = 3;
    paint.beginPath(); // what is left of its health
    paint.arc(0, 0, 7, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * light);
    paint.stroke();
  },
  [PLATE](paint, {light}) {
    paint.fillStyle = `rgb(255 95 210 / ${.1 + .5 * light})`;
    polygon(paint, around(4, () => 7));
    paint.fill();
    outline(paint, boss);
  },
  [BULLET](paint) {
    paint.drawImage(shot, -14, -3, 24, 6);
    paint.fillStyle = '#e8fbff';
    paint.fillRect(-4, -.7, 7, 1.4);
  },
  [ENEMY](paint) {
    paint.drawImage(enemy, -9, -9, 18, 18);
    paint.fillStyle = '#fff0d8';
    polygon(paint, around(4, () => 2.4));
    paint.fill();
  },
  [ROCK](paint, {size, light}) {
    paint.fillStyle = '#10141d';
    polygon(paint, around(11, k => 4.5 * size * (.9 + .16 * Math.sin(k * k * 1.7 + light))));
    paint.fill();
    outline(paint, hue(light)); // its slot: it keeps its tint when it moves in the strip
  }
};

function drawShip(paint, {x, y, shield, over}) {
  if (over) return;
  paint.save();
  paint.translate(x, y);
  paint.drawImage(shot, -16, -5, 20, 10);
  paint.fillStyle = '#123246';
  polygon(paint, [[9, 0], [-6, -5.5], [-3, 0], [-6, 5.5]]);
  paint.fill();
  outline(paint, '#c8f0ff');
  paint.beginPath();
  paint.arc(1, 0, 11, 0, 2 * Math.PI);
  paint.strokeStyle = `rgb(120 220 255 / ${Math.min(shield / 60, .7)})`;
  if (shield) paint.stroke();
  paint.restore();
}

// The autopilot's target, of which it has a handle.
function drawTarget(paint, {targetX, targetY}) {
  if (targetX < 0) return;
  paint.strokeStyle = paint.fillStyle = '#ffe08a';
  paint.setLineDash([4, 6]);
  paint.beginPath();
  paint.arc(targetX, targetY, 17, 0, 2 * Math.PI);
  paint.stroke();
  paint.setLineDash([]);
  paint.font = '5.5px system-ui, sans-serif';
  paint.fillText('found by its handle', targetX + 14, targetY - 13);
}

function drawSky(now) {
  const {paint, width, height} = canvasOf(byId('sky')), wide = width * HIGH / height;
  paint.scale(height / HIGH, height / HIGH);
  const dusk = paint.createLinearGradient(0, 0, wide, HIGH);
  [[0, '#070a16'], [.55, '#0a0a1e'], [1, '#1b0b26']].forEach(stop => dusk.addColorStop(...stop));
  paint.fillStyle = dusk;
  paint.fillRect(0, 0, wide, HIGH);
  for (const {x, y, near} of stars) {
    paint.fillStyle = `rgb(190 205 255 / ${.25 + .5 * near})`;
    paint.fillRect(((x * wide - now.frame * near * .5) % wide + wide) % wide, y * HIGH, .5 + near, .5 + near / 2);
  }
  const rows = floats(c.things(), now.things * ROW);
  for (let at = 0; at < rows.length; at += ROW) {
    const [kind, x, y, size, angle, light] = rows.subarray(at, at + ROW);
    paint.save();
    paint.globalCompositeOperation = kind === SPARK ? 'lighter' : 'source-over';
    paint.translate(x, y);
    paint.rotate(angle);
    draws[kind](paint, {size, light});
    paint.restore();
  }
  drawTarget(paint, now);
  drawShip(paint, now);
  if (!(keys & REWIND)) return;
  paint.fillStyle = 'rgb(90 130 255 / .16)';
  paint.fillRect(0, 0, wide, HIGH);
  paint.fillStyle = '#dfe9ff';
  for (const x of [0, 14]) polygon(paint, [[wide / 2 + x, 70], [wide / 2 + x, 90], [wide / 2 + x - 13, 80]]), paint.fill();
}

// ---- The strips --------------------------------------------------------------------------------------------------------

const NEVER = 0, EMPTY = 1, RESERVED = 2, LIVE = 3, JUST = 4, STOLEN = 5;
const soundNames = ['shot', 'hit', 'crack', 'blast', 'boss'], soundTints = ['#7fd4ff', '#b8e986', '#ffd479', '#ff9a6b', boss];
const strips = [
  {name: 'bullets', kind: 'kolk_pool', tint: kind => kind === ENEMY ? '#ff8a5c' : '#7fd4ff',
    note: 'The slot that was freed last is used next.'},
  {name: 'rocks', kind: 'kolk_slotmap', tint: hue, note: 'Packed: the last rock moves into the hole, and its handle follows.'},
  {name: 'sparks and the boss', kind: 'kolk_pool, .full.headroom = 5', tint: kind => kind === SPARK ? '#ffb15c' : boss,
    note: 'Sparks never take the reserved slots. The boss can: alloc_urgent.'},
  {name: 'voices', kind: 'kolk_pool, kolk_pool_evict_cheapest', tint: sound => soundTints[sound],
    note: 'When all play, the quietest is stolen.'}
];
for (const strip of strips) {
  const card = add(byId('strips'), 'div', null, {class: 'card strip'}), head = add(card, 'div', null, {class: 'head'});
  add(head, 'h2', strip.name + ' ').append(add(head, 'code', strip.kind, {class: 'note'}));
  strip.figures = add(head, 'span', '', {class: 'figures', id: strip.name.split(' ')[0]});
  strip.canvas = add(card, 'canvas', null, {role: 'img', 'aria-label': `The slots of ${strip.name}, a cell each, in the order of their addresses.`});
  add(card, 'p', strip.note, {class: 'note'});
}

// In how many rows the cells of a strip are least narrow.
function rowsOf(n, width, height) {
  const side = rows => Math.min(width / Math.ceil(n / rows), height / rows);
  return [1, 2, 3, 4, 5, 6].reduce((best, rows) => side(rows) > side(best) ? rows : best);
}

function drawCell(paint, width, height, state, tint) {
  paint.fillStyle = state >= LIVE ? state === JUST && !still.matches ? '#ffffff' : tint : state === NEVER ? '#10131c' : '#2a3145';
  paint.fillRect(0, 0, width, height);
  paint.lineWidth = 2;
  paint.strokeStyle = state === RESERVED ? boss : '#e0241c';
  if (state === RESERVED || state === STOLEN) paint.strokeRect(1, 1, width - 2, height - 2);
  if (state !== STOLEN) return;
  paint.beginPath();
  paint.moveTo(0, height);
  paint.lineTo(width, 0);
  paint.stroke();
}

function drawStrip({canvas, tint}, n, capacity) {
  const {paint, width, height} = canvasOf(canvas), edge = 3, rows = rowsOf(capacity, width - 2 * edge, height - 2 * edge);
  const columns = Math.ceil(capacity / rows), wide = (width - 2 * edge) / columns, high = (height - 2 * edge) / rows;
  new Uint8Array(c.memory.buffer, c.cells(n), capacity).forEach((byte, slot) => {
    const state = byte & 7, kind = byte >> 3;
    paint.save();
    paint.translate(edge + slot % columns * wide, edge + Math.floor(slot / columns) * high);
    drawCell(paint, wide - 1.5, high - 1.5, state, tint(kind));
    paint.fillStyle = '#06070c';
    paint.font = '600 13px system-ui, sans-serif';
    if (n === MIXED && state >= LIVE) paint.fillText(soundNames[kind], 8, high / 2 + 4, wide - 14);
    paint.restore();
  });
}

function showFigures(now) {
  const more = [pool => `refused ${count(pool.failed)}`, pool => `refused ${count(pool.failed)}`,
    pool => `refused ${count(pool.failed - now.refusedBoss)} sparks, ${now.refusedBoss} of ${now.bossParts} parts`,
    pool => `stolen ${count(pool.evictions)}`];
  now.pools.forEach((pool, n) => write(strips[n].figures, `${pool.count} of ${pool.capacity}, peak ${pool.peak}, ${more[n](pool)}`));
  strips.forEach((strip, n) => drawStrip(strip, n, now.pools[n].capacity));
  write(byId('score'), count(now.score));
  write(byId('ships'), '▲'.repeat(now.ships) || '0');
  write(byId('tape'), (now.kept / 20).toFixed(0) + ' s');
  write(byId('lives'), count(now.lives));
  write(byId('checks'), count(now.checks));
  write(byId('restored'), count(now.rewinds));
  write(byId('mistakes'), count(now.mistakes));
  byId('mistakes').className = now.mistakes ? 'bad' : '';
}

for (const [state, text] of ['never used', 'free', 'reserved for the boss', 'live', 'just used', 'stolen'].entries()) {
  const item = add(byId('legend'), 'li'), key = add(item, 'canvas', null, {width: 14, height: 14, 'aria-hidden': 'true'});
  drawCell(key.getContext('2d'), 14, 14, state, soundTints[0]);
  item.append(text);
}

// ---- Sound -------------------------------------------------------------------------------------------------------------

// By sound: the shape of its wave, its pitch at first and at last, its seconds, its volume.
const tones = [['square', 900, 250, .15, .05], ['triangle', 260, 150, .12, .2], ['sawtooth', 170, 45, .42, .12], ['sawtooth', 120, 25, 1, .3],
  ['sine', 70, 160, 1.5, .3]];
let audio = null;
const playing = []; // by voice: the life that it plays, and its oscillator

// A voice whose slot has a new life was stolen, or has ended: what it played stops at once.
function sound() {
  if (!audio) return;
  const voices = words(c.sounds(), 12), silent = !plays || keys & REWIND;
  for (let slot = 0; slot < voices.length / 2; slot++) {
    const life = silent ? 0 : voices[2 * slot];
    if (playing[slot]?.life === life) continue;
    playing[slot]?.source?.stop();
    playing[slot] = {life, source: life ? startTone(...tones[voices[2 * slot + 1]]) : null};
  }
}

function startTone(type, first, last, seconds, volume) {
  const source = audio.createOscillator(), gain = audio.createGain(), end = audio.currentTime + seconds;
  source.type = type;
  source.frequency.setValueAtTime(first, audio.currentTime);
  source.frequency.exponentialRampToValueAtTime(last, end);
  gain.gain.setValueAtTime(volume, audio.currentTime);
  gain.gain.exponentialRampToValueAtTime(.001, end);
  source.connect(gain).connect(audio.destination);
  source.start();
  return source;
}

byId('sound').addEventListener('click', () => {
  if (audio) audio.close();
  audio = audio ? null : new AudioContext();
  playing.length = 0;
  write(byId('sound'), audio ? 'Sound: on' : 'Sound: off');
  byId('sound').setAttribute('aria-pressed', Boolean(audio));
});

// ---- Time --------------------------------------------------------------------------------------------------------------

// owed: the part of a frame that has not passed yet; idle: frames since the last key
let plays = false, next = 0, last = 0, owed = 0, idle = 0, keys = 0, point = {x: 0, y: 0}, shown = null;
const IDLE = 1200;

function banner(now) {
  if (keys & REWIND) return 'Back in time: every pool is restored from a snapshot.';
  if (!plays) return 'Press Play, an arrow or Space.';
  if (now.playsItself) return 'The autopilot plays. Press an arrow or Space, or touch the sky.';
  return now.over ? 'No ship is left. Hold R to go back, or press Space for a new game.' : '';
}

function draw() {
  const now = shown = read();
  drawSky(now);
  showFigures(now);
  sound();
  write(byId('banner'), banner(now));
  byId('demo').setAttribute('aria-pressed', Boolean(now.playsItself));
}

function pass(frames) {
  idle = keys ? 0 : idle + frames;
  if (idle > IDLE && !shown.playsItself && !still.matches) begin(true);
  c.step(frames, keys, point.x, point.y, byId('sky').clientWidth * HIGH / byId('sky').clientHeight);
  draw();
}

function tick(time) {
  owed = Math.min(owed + Math.max(time - last, 0) * .06, 4); // 60 frames a second; a slow machine has fewer
  last = time;
  const frames = Math.floor(owed);
  owed -= frames;
  if (frames) pass(frames);
  next = requestAnimationFrame(tick);
}

function play(on) {
  if (plays === on) return;
  plays = on;
  write(byId('play'), on ? 'Pause' : 'Play');
  draw();
  if (!on) return cancelAnimationFrame(next);
  last = performance.now();
  next = requestAnimationFrame(tick);
}

function begin(itself) {
  idle = 0;
  c.begin(itself);
  draw();
}

// ---- What a player does ------------------------------------------------------------------------------------------------

const bits = {ArrowUp: UP, ArrowDown: DOWN, ArrowLeft: LEFT, ArrowRight: RIGHT, ' ': FIRE, r: REWIND, R: REWIND};

function press(bit) {
  if (bit !== REWIND && (shown.playsItself || bit & FIRE && shown.over > 40)) begin(false);
  keys |= bit;
  play(true);
}

function release(bit) {
  keys &= ~bit;
}

// Keys are the game's while the sky has the focus, or nothing has it.
addEventListener('keydown', event => {
  const bit = bits[event.key], isOurs = event.target === document.body || event.target === byId('sky');
  if (!bit || !isOurs || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  if (!event.repeat) press(bit);
});
addEventListener('keyup', event => release(bits[event.key] || 0));
addEventListener('blur', () => release(~0));

function aim(event) {
  const scale = HIGH / byId('sky').clientHeight, ahead = event.pointerType === 'touch' ? 40 : 0; // not below the finger
  point = {x: (event.offsetX + ahead) * scale, y: event.offsetY * scale};
}

byId('sky').addEventListener('pointerdown', event => {
  byId('sky').setPointerCapture(event.pointerId);
  aim(event);
  press(POINT | FIRE);
});
byId('sky').addEventListener('pointermove', aim);
byId('rewind').addEventListener('pointerdown', () => press(REWIND));
byId('rewind').addEventListener('keydown', event => { if (event.key === ' ' || event.key === 'Enter') press(REWIND); });
byId('rewind').addEventListener('keyup', () => release(REWIND));
byId('rewind').addEventListener('blur', () => release(REWIND));
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => release(POINT | FIRE | REWIND));

byId('play').addEventListener('click', () => play(!plays));
byId('demo').addEventListener('click', () => { begin(!shown.playsItself); play(true); });

new ResizeObserver(draw).observe(byId('sky'));
still.addEventListener('change', () => play(!still.matches));
begin(!still.matches);
pass(150);
write(byId('play'), 'Play');
play(!still.matches);
