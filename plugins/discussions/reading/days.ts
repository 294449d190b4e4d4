const DAY = 86_400_000;

/** Start of a day (YYYY-MM-DD) in a time zone; an unknown zone is treated as UTC. */
export function startOfDay(day: string, zone: string): Date {
  const midnight = Date.parse(`${day}T00:00Z`);
  return new Date(midnight - offsetAt(midnight, zone));
}

/** Start of the following day. */
export const endOfDay = (day: string, zone: string): Date =>
  startOfDay(new Date(Date.parse(day) + DAY).toISOString().slice(0, 10), zone);

/** The day (YYYY-MM-DD) of a moment in a time zone. */
export const dayOf = (moment: Date, zone: string): string =>
  new Date(moment.getTime() + offsetAt(moment.getTime(), zone)).toISOString().slice(0, 10);

/** The last day that started before a moment. */
export const lastDayBefore = (moment: Date, zone: string): string => dayOf(new Date(moment.getTime() - 1), zone);

/** Offset of the time zone from UTC in milliseconds. */
function offsetAt(moment: number, timeZone: string): number {
  try {
    // The Swedish locale formats dates as in ISO 8601.
    const local = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone }).format(
      moment,
    );
    return Date.parse(`${local.replace(' ', 'T')}Z`) - moment;
  } catch {
    return 0;
  }
}
