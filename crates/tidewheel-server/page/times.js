// Instants in the time zone of whoever looks, and spans that go on.
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
// A day is one everywhere.
const date = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
let stopped;

/** The path below which the server stands. */
export const base = document.documentElement.dataset.base ?? '';

/** A span in at most two units, as the server says it. */
export function span(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 1) return `${Math.max(0, Math.floor(ms))} ms`;
  if (s < 60) return `${(ms / 1000).toFixed(1)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} m`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

function say(time, now) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) return;
  if (time.dateTime.length < 11) return void (time.textContent = date.format(at));
  let text;
  if ('since' in time.dataset) text = span(now - at);
  else if ('away' in time.dataset) text = at > now ? `in ${span(at - now)}` : 'expected' in time.dataset ? 'any moment now' : `${span(now - at)} ago`;
  else {
    const isToday = new Date(now).toDateString() === at.toDateString();
    text = isToday ? clock.format(at) : `${day.format(at)}, ${clock.format(at).slice(0, 5)}`;
  }
  if (time.textContent !== text) time.textContent = text;
  if (!time.title) time.title = `${at.toLocaleString()} ${zone} · ${time.dateTime}`;
}

export function localise(within) {
  const now = stopped ?? Date.now();
  for (const time of within.querySelectorAll('time')) say(time, now);
  for (const tick of within.querySelectorAll('[data-left]')) tick.style.left = `${tick.dataset.left}%`;
  const name = document.getElementById('zone');
  if (name && name.textContent !== zone) name.textContent = zone;
}

/** Clocks stand still while nobody knows how things are. */
export function stopClocks(still) {
  if (still === (stopped !== undefined)) return;
  stopped = still ? Date.now() : undefined;
  localise(document);
}

setInterval(() => {
  if (stopped !== undefined || document.hidden) return;
  const now = Date.now();
  for (const time of document.querySelectorAll('time[data-since], time[data-away]')) say(time, now);
}, 1000);
