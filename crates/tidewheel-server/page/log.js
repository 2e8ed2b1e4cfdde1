// A log of any length: what is seen is asked for and drawn. Lines, colours and searches come from the server.
const ROW = 20, SPACE = 8e6, BLOCK = 400, KEPT = 20;
const LINK = /https?:\/\/[^\s<>"'`]+/g;
const make = (tag, className, more) => Object.assign(document.createElement(tag), { className, ...more });
const count = (number) => number.toLocaleString('en');
const bytes = (number) => number < 1e3 ? `${number} B` : number < 1e6 ? `${Math.ceil(number / 1e3)} kB` : `${(number / 1e6).toFixed(1)} MB`;

/** Shows a log in an element; gives what wants to be called with each `log` event. `begin` is where its first lines are; `track` is called with each update that is pending. */
export function mountLog(root, { run, step, attempt, stream = '', api = '/api/v1', follow = false, failed = false, begin, track = (update) => update }) {
  let task, generation, total = 0, size = 0, isOver = true;
  let top = 0, atEnd = false, anchor = [0, 0], frame, wrap = innerWidth < 600;
  let hits = [], found = 0, at = 0, only = false, text = '', isRegex = false, searching, errors;
  let chosen, due, counted, counting, ending, message;
  const blocks = new Map(), asked = new Set();
  // What stands beside an element in a page is text, and nothing where it is only there.
  [follow, failed] = [follow, failed].map((it) => it === '' || it === true);

  root.classList.add('log');
  const before = root.querySelector?.('pre');
  const bar = make('div', 'log-bar'), body = make('div', 'log-body'), marks = make('canvas', 'log-marks', { ariaHidden: 'true' });
  const view = make('div', 'log-view', { tabIndex: 0, role: 'log', ariaLive: 'off', ariaLabel: `Log of ${step}` });
  const space = make('div', 'log-space'), pane = make('div', 'log-pane'), rows = make('div', 'log-rows');
  const box = make('input', 'log-search', { type: 'search', placeholder: 'Search, or :line', ariaLabel: 'Search, or a colon and a line, or two with a dash between' });
  const sum = make('span', 'log-sum', { role: 'status' }), note = make('p', 'log-note', { role: 'status' });
  const which = make('select', '', { ariaLabel: 'Stream' });
  for (const [value, word] of [['', 'out + err'], ['stdout', 'out'], ['stderr', 'err']]) which.append(new Option(word, value, false, value === stream));
  bar.append(which, box, sum);
  const buttons = {};
  for (const [key, textContent, about] of [['r', '.*', 'Regular expression'], ['n', 'Next', 'Next found'], ['N', 'Previous', 'Previous found'],
    ['&', 'Only found', 'Only lines with it'], ['e', 'Error', 'Next error'], ['w', 'Wrap', 'Wrap long lines'], ['F', 'Follow', 'Stay at the end']]) {
    bar.append(buttons[key] = make('button', 'rnN&'.includes(key) ? 'of-search' : '', { type: 'button', textContent, title: `${about} (${key})`, onclick: () => keys[key]() }));
  }
  pane.append(rows);
  space.append(pane);
  view.append(space);
  body.append(view, marks);
  root.replaceChildren(bar, body, note);
  // The end that the server wrote is seen until there are lines.
  if (before) {
    rows.append(before);
    rows.style.transform = `translateY(${Math.min(0, view.clientHeight - rows.offsetHeight)}px)`;
  }

  function press(follows = follow) {
    follow = follows;
    for (const [key, on] of Object.entries({ r: isRegex, '&': only, w: wrap, F: follow })) buttons[key].ariaPressed = on;
    root.classList.toggle('wrap', wrap);
  }

  async function ask(what, query, signal, address) {
    const all = new URLSearchParams({ ...query, ...(task === undefined ? { step } : { task }), ...(attempt && { attempt }), ...(stream && { stream }) });
    const answer = await fetch(address ?? `${api}/runs/${encodeURIComponent(run)}/log/${what}?${all}`, { signal });
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail || `status ${answer.status}`);
    return answer;
  }
  async function lines(query, address) {
    const page = await (await ask('lines', { now: true, ...query }, undefined, address)).json();
    if (generation && generation !== page.generation) { blocks.clear(); errors = undefined; }
    ({ generation, total, size, counted } = page);
    if (page.from === 0) ending = page.lines;
    if (counted !== undefined) countOn();
    isOver = page.over ?? isOver;
    if (page.attempt) ({ run_id: run, task, attempt } = page);
    return page;
  }
  // The lines of a long log are counted by and by. Its end is shown before, without numbers.
  function countOn() {
    return counting ??= (async () => {
      await 0;
      while (counted !== undefined) { await lines({ count: 1 }); soon(); }
    })().catch(tell).finally(() => { [counting, ending] = []; draw(); sync(); });
  }
  const shown = () => only ? hits.length : total;
  const numberOf = (index) => only ? hits[index] : index + 1;
  const indexOf = (number) => only ? Math.max(0, hits.findIndex((hit) => hit >= number)) : number - 1;
  const here = () => at || numberOf(Math.floor(top));
  const lineOf = (index) => blocks.get(`${only}${Math.floor(index / BLOCK)}`)?.[index % BLOCK];
  function keep(key, some) {
    blocks.delete(key);
    blocks.set(key, some);
    if (blocks.size > KEPT) blocks.delete(blocks.keys().next().value);
    soon();
  }
  function fetchBlock(block) {
    const key = `${only}${block}`, from = block * BLOCK;
    if (asked.has(key)) return;
    asked.add(key);
    const query = only ? { only: hits.slice(from, from + BLOCK) } : { from: from + 1, count: BLOCK };
    track(lines(query)).then((page) => keep(key, page.lines)).catch(tell).finally(() => asked.delete(key));
  }
  // It stays until a key is pressed or the log is scrolled: the log may be drawn again at any time.
  const report = (text) => { message = note.textContent = text; };
  const tell = (error) => { if (error.name !== 'AbortError') note.textContent = `It cannot be done: ${error.message}`; };
  const soon = () => { frame ??= requestAnimationFrame(() => { frame = undefined; draw(); }); };

  // What came from a process is text and never anything else.
  function letters(into, word) {
    let from = 0;
    for (const { 0: href, index } of word.matchAll(LINK)) {
      lit(into, word.slice(from, index));
      into.append(make('a', '', { textContent: href, href, rel: 'noopener noreferrer', target: '_blank' }));
      from = index + href.length;
    }
    lit(into, word.slice(from));
  }
  function lit(into, word) {
    const wanted = isRegex || text[0] === ':' ? '' : text, isExact = /\p{Lu}/u.test(wanted);
    const [hay, needle] = isExact ? [word, wanted] : [word.toLowerCase(), wanted.toLowerCase()];
    let from = 0;
    if (needle && hay.length === word.length) {
      for (let place; (place = hay.indexOf(needle, from)) >= 0; from = place + needle.length) {
        into.append(word.slice(from, place), make('mark', '', { textContent: word.slice(place, place + needle.length) }));
      }
    }
    into.append(word.slice(from));
  }
  function row(index) {
    const line = lineOf(index);
    if (!line) fetchBlock(Math.floor(index / BLOCK));
    return rowOf(line, numberOf(index));
  }
  function rowOf(line, number) {
    const it = make('div', 'log-row'), code = make('span', 'log-text');
    it.append(number === undefined ? make('span', 'log-n') : make('a', 'log-n', { href: `#L${number}`, textContent: number, tabIndex: -1, onclick: (event) => {
      event.preventDefault();
      choose(event.shiftKey && chosen ? chosen[0] : number, number);
    } }));
    it.append(code);
    it.classList.toggle('chosen', number >= chosen?.[0] && number <= chosen[1]);
    it.classList.toggle('here', number > 0 && number === at);
    if (!line) {
      code.textContent = '…';
      return it;
    }
    it.classList.toggle('err', line[1] === 'stderr');
    for (const [style, word] of line[2]) letters(code.appendChild(make('span', style)), word);
    if (line[3] && number) it.append(make('button', 'log-more', { type: 'button', textContent: `show ${bytes(line[3][1])}`, onclick: async () => {
      const whole = await lines({ from: number, count: 1, bytes: 1 << 20 }).catch(tell);
      if (whole) line.splice(0, 4, ...whole.lines[0]);
      soon();
    } }));
    return it;
  }

  // One is at a line and a part of it. Small moves are by lines, large ones by ratio: no element can be as high as a long log.
  const fits = () => Math.max(1, view.clientHeight / ROW);
  const height = () => Math.min(SPACE, shown() * ROW);
  const last = () => Math.max(0, shown() - Math.floor(fits()));
  function draw() {
    space.style.height = `${Math.max(height(), view.clientHeight)}px`;
    pane.style.height = `${view.clientHeight}px`;
    top = atEnd ? last() : Math.min(Math.max(0, top), last());
    const first = Math.floor(top), isAhead = atEnd && counted !== undefined && !only, all = [];
    if (isAhead) {
      if (!ending) { ending = []; lines({ from: -BLOCK }).then(soon).catch(tell); }
      all.push(...ending.slice(-Math.ceil(fits()) - 1).map((line) => rowOf(line)));
    } else for (let index = first; index < Math.min(shown(), first + fits() + 1); index++) all.push(row(index));
    rows.replaceChildren(...all);
    rows.style.setProperty('--digits', `${Math.max(3, String(total).length)}ch`);
    const shift = isAhead || top >= last() ? Math.max(0, rows.offsetHeight - pane.clientHeight) : (top - first) * (all[0]?.offsetHeight || ROW);
    rows.style.transform = `translateY(${-shift}px)`;
    note.textContent = message ?? `${only ? `${count(shown())} of ` : ''}${count(total)} lines${counted === undefined ? '' : ` and more, ${Math.floor(counted / size * 100)} % counted`}, ${bytes(size)}${isOver ? '' : ', and it goes on'}`;
  }
  function sync() {
    const place = last() ? top / last() * Math.max(0, height() - view.clientHeight) : 0;
    anchor = [place, top];
    if (Math.abs(view.scrollTop - place) >= 1) view.scrollTop = place;
  }
  function go(line, isCentred) {
    top = Math.max(0, line - (isCentred ? (wrap ? 1 : fits() / 3) : 0));
    atEnd = top >= last();
    draw();
    sync();
  }
  view.onscroll = () => {
    const place = view.scrollTop, moved = place - anchor[0], most = view.scrollHeight - view.clientHeight, before = top;
    if (Math.abs(moved) < 1) return;
    message = undefined;
    const isNear = height() < SPACE || Math.abs(moved) < view.clientHeight * 3;
    top = place <= 0 ? 0 : place >= most - 1 ? last() : isNear ? anchor[1] + moved / ROW : place / most * last();
    if (!isNear) anchor = [place, top];
    atEnd = top >= last();
    if (top < before) press(false); else if (atEnd && !isOver) press(true);
    soon();
  };
  view.onscrollend = sync;
  new ResizeObserver(soon).observe(view);

  async function search() {
    clearTimeout(box.wait);
    searching?.abort();
    searching = new AbortController();
    if (only) filter(false);
    [hits, found, text, at] = [[], 0, box.value, 0];
    box.ariaInvalid = 'false';
    root.classList.toggle('finding', !!text);
    sum.textContent = '';
    paint();
    soon();
    if (!text || text[0] === ':') return;
    await track(read({ text, regex: isRegex }, searching.signal, (piece) => {
      const isFirst = !hits.length && piece.hits.length;
      hits.push(...piece.hits);
      found = piece.sum?.count ?? hits.length;
      if (isFirst) jump(0);
      say(!piece.sum && piece.bytes / piece.size);
      paint(piece.sum?.buckets);
    })).catch((error) => {
      if (error.name === 'AbortError') return;
      sum.textContent = error.message;
      box.ariaInvalid = 'true';
    });
  }
  async function read(query, signal, hear) {
    const reader = (await ask('search', query, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      const all = (rest + value).split('\n');
      rest = all.pop();
      for (const line of all) hear(JSON.parse(line));
    }
  }
  function say(part) {
    const place = hits.indexOf(at) + 1;
    sum.textContent = `${place ? `${count(place)} of ` : ''}${count(found)}${place ? '' : ' found'}${part ? `, ${Math.floor(part * 100)} % searched` : ''}`;
  }
  const show = (number) => {
    at = number;
    press(false);
    go(indexOf(number), true);
  };
  async function jump(way) {
    if (!hits.length) return;
    const from = here() + (at ? way : 0);
    let next = way < 0 ? hits.findLast((hit) => hit <= from) : hits.find((hit) => hit >= from);
    if (!next && way > 0 && hits.length < found) {
      await read({ text, regex: isRegex, from: hits.at(-1) + 1 }, searching.signal, (piece) => hits.push(...piece.hits)).catch(tell);
      next = hits.find((hit) => hit >= from);
    }
    show(next ?? hits.at(way < 0 ? -1 : 0));
    say();
  }
  async function error(way) {
    if (errors?.total !== total) {
      errors = Object.assign([], { total });
      await read({ limit: 1e5 }, undefined, (piece) => errors.push(...piece.hits)).catch(tell);
    }
    const from = here() + (at ? way : 0);
    const next = way < 0 ? errors.findLast((hit) => hit <= from) ?? errors.at(-1) : errors.find((hit) => hit >= from) ?? errors[0];
    if (only) filter(false);
    if (next) show(next); else report('No line looks like an error');
  }
  function filter(on) {
    const number = here();
    only = on;
    blocks.clear();
    press(false);
    go(indexOf(number), true);
  }
  function paint(buckets = []) {
    const high = marks.height = marks.clientHeight, pen = marks.getContext('2d'), most = Math.max(1, ...buckets);
    pen.fillStyle = getComputedStyle(marks).color;
    buckets.forEach((number, place) => {
      pen.globalAlpha = number && 0.4 + 0.6 * number / most;
      pen.fillRect(0, place / buckets.length * high, 99, Math.max(2, high / buckets.length));
    });
  }
  marks.onclick = (event) => go(Math.floor(event.offsetY / marks.clientHeight * shown()), true);

  // Copied from the server: only what is seen is here.
  function choose(from, to) {
    chosen = [Math.min(from, to), Math.max(from, to)];
    history.replaceState(history.state, '', `#L${chosen[0]}${chosen[1] > chosen[0] ? `-L${chosen[1]}` : ''}`);
    soon();
  }
  async function copy() {
    const [from, to] = chosen ?? [here(), here()];
    let all = '';
    for (let first = from; first <= Math.min(to, from + 99999); first += 1000) {
      const page = await lines({ from: first, count: Math.min(1000, to - first + 1) });
      for (const line of page.lines) all += `${line[2].map((span) => span[1]).join('')}\n`;
    }
    await navigator.clipboard.writeText(all);
    report(`${count(to - from + 1)} line${to > from ? 's' : ''} copied`);
  }
  function fromHash() {
    const range = /^#L(\d+)(?:-L?(\d+))?$/.exec(location.hash);
    if (!range) return false;
    goTo(+range[1], +(range[2] ?? range[1]));
    return true;
  }
  function goTo(from, to) {
    if (counting && to > total) return void counting.then(() => goTo(from, to));
    if (only) filter(false);
    choose(from, to);
    press(false);
    go(indexOf(chosen[0]), true);
  }

  function grown(event) {
    if (event.step !== step || (attempt && event.attempt !== +attempt)) return;
    isOver = event.over;
    due ??= setTimeout(async () => {
      due = undefined;
      const block = Math.floor(Math.max(0, total - 1) / BLOCK);
      const page = await lines({ from: block * BLOCK + 1, count: BLOCK }).catch(tell);
      if (page) keep(`false${block}`, page.lines);
      if (follow) go(Infinity);
    }, 250);
  }
  const keys = {
    '/': () => box.focus(), ':': () => { box.value = ':'; box.focus(); }, n: () => jump(1), N: () => jump(-1), e: () => error(1), E: () => error(-1),
    g: () => { press(false); go(0); }, G: () => { press(!isOver); go(Infinity); }, F: () => { press(!follow); if (follow) go(Infinity); },
    w: () => { wrap = !wrap; press(); draw(); }, r: () => { isRegex = !isRegex; press(); search(); },
    '&': () => { if (hits.length) filter(!only); }, y: () => track(copy()).catch(tell),
  };
  keys.Home = keys.g;
  keys.End = keys.G;
  root.onkeydown = (event) => {
    const { target, key } = event;
    message = undefined;
    if (event.ctrlKey && key === 'f' && target !== box) { event.preventDefault(); box.select(); }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target === box) {
      const line = /^:\s*(\d+)(?:\s*-\s*(\d+))?/.exec(box.value);
      if (key === 'Escape') view.focus();
      if (key === 'Enter') if (line) { goTo(+line[1], +(line[2] ?? line[1])); view.focus(); } else if (box.value === text) jump(event.shiftKey ? -1 : 1); else search();
      return;
    }
    if (!keys[key] || (target === which && key.length > 1)) return;
    event.preventDefault();
    event.stopPropagation();
    keys[key]();
  };
  box.oninput = () => { clearTimeout(box.wait); box.wait = setTimeout(search, 300); };
  which.onchange = async () => {
    stream = which.value;
    [generation, chosen, errors, ending] = [];
    blocks.clear();
    await lines({ count: 1 }).catch(tell);
    search();
    go(0);
  };
  addEventListener('hashchange', fromHash);

  press();
  const ready = (async () => {
    const first = await lines(follow || failed ? { from: -BLOCK } : {}, begin);
    if (first.from === 1) keep('false0', first.lines);
    atEnd = first.from === 0;
    draw();
    if (fromHash()) return;
    const line = failed && (await (await ask('error', {})).json()).line;
    if (line) show(line); else if (follow || failed) go(Infinity);
  })().catch(tell);
  return { ready, grown };
}
