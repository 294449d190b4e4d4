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
