import { Cron } from 'croner';

/** Date and time of a form's field, as `2026-03-29T09:00`, or nothing. */
export const LOCAL_TIME = String.raw`^(?:\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)?$`;

/**
 * The moment of a local date and time in a time zone: the first one if it occurs twice, and the next valid one if
 * clocks skip it. Undefined if it cannot be parsed.
 */
export function momentOf(local: string, zone: string): Date | undefined {
  try {
    const text = local.length === 16 ? `${local}:00` : local;
    return new Cron(text, { timezone: zone, paused: true }).nextRun(new Date(0)) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The moment as the value of a date and time field. */
export const localTimeOf = (moment: Date, zone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone: zone })
    .format(moment)
    .replace(' ', 'T');

/** Ready choices of a reminder: at nine in the morning of tomorrow, of the same day next week, and next month. */
export const CHOICES = ['tomorrow', 'week', 'month'] as const;
export type Choice = (typeof CHOICES)[number];
const MORNING = 'T09:00';

/** The date and time of a choice, as a form field has it. The last day of a short month stands for those it lacks. */
export function chosenTime(choice: Choice, now: Date, zone: string): string {
  const [year = 0, month = 1, day = 1] = localTimeOf(now, zone).slice(0, 10).split('-').map(Number);
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const date = {
    tomorrow: () => Date.UTC(year, month - 1, day + 1),
    week: () => Date.UTC(year, month - 1, day + 7),
    month: () => Date.UTC(year, month, Math.min(day, last)),
  }[choice]();
  return `${new Date(date).toISOString().slice(0, 10)}${MORNING}`;
}
