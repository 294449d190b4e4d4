const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_556_952],
  ['month', 2_629_746],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
/** As on the server, weeks are used from two weeks on. */
const LEAST: Readonly<Record<string, number>> = { week: 1_209_600 };

/** How long ago a time was, or how long until it: "3 hr. ago". */
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
/** "Yesterday" is a word of its own, but "last yr." hides how long ago it was. */
const formats: { auto?: Intl.RelativeTimeFormat; always?: Intl.RelativeTimeFormat } = {};

/**
 * Keeps relative times such as "3 hr. ago" current while a page is open. Sets their titles to the browser's local time,
 * unless the reader has chosen a time zone, in which the titles already are.
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
