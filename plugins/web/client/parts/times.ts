const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_556_952],
  ['month', 2_629_746],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
/** The server changes to weeks at two of them, as here. */
const LEAST: Readonly<Record<string, number>> = { week: 1_209_600 };

/** How long ago that was, or how soon it will be: "3 hr. ago". */
export function relativeTime(time: number): string {
  const seconds = (time - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([name, length]) => Math.abs(seconds) >= (LEAST[name] ?? length)) ?? ['second', 0];
  const numeric = unit === 'day' || !size ? 'auto' : 'always';
  const format = (formats[numeric] ??= new Intl.RelativeTimeFormat(document.documentElement.lang, {
    numeric,
    style: 'short',
  }));
  return format.format(size ? Math.trunc(seconds / size) : 0, unit);
}
/** "Yesterday" is a word of its own, "last yr." hides how long ago it was. */
const formats: { auto?: Intl.RelativeTimeFormat; always?: Intl.RelativeTimeFormat } = {};

/**
 * Keeps "3 hr. ago" true while a page is open, and gives the browser's own time as the title, unless the reader has
 * chosen a zone, which titles are in then.
 */
export function keepTimes(): void {
  const absolute = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'long', timeStyle: 'short' });
  const own = document.documentElement.dataset['zone'];
  const show = (): void => {
    for (const element of document.querySelectorAll<HTMLTimeElement>('time[data-relative]')) {
      const time = Date.parse(element.dateTime);
      const text = relativeTime(time);
      if (element.textContent !== text) element.textContent = text;
      if (!own) element.title = absolute.format(time);
    }
  };
  show();
  setInterval(() => {
    if (!document.hidden) show();
  }, 60_000);
}
