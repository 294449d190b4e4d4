const DAY = 86_400_000;

/** When a day (YYYY-MM-DD) begins in a time zone; UTC for a zone that nobody knows. */
export function startOfDay(day: string, zone: string): Date {
  const midnight = Date.parse(`${day}T00:00Z`);
  return new Date(midnight - offsetAt(midnight, zone));
}

/** When the day after it begins. */
export const endOfDay = (day: string, zone: string): Date =>
  startOfDay(new Date(Date.parse(day) + DAY).toISOString().slice(0, 10), zone);

/** The day that a moment belongs to, in a time zone. */
export const dayOf = (moment: Date, zone: string): string =>
  new Date(moment.getTime() + offsetAt(moment.getTime(), zone)).toISOString().slice(0, 10);

/** The last day that has begun before a moment. */
export const lastDayBefore = (moment: Date, zone: string): string => dayOf(new Date(moment.getTime() - 1), zone);

/** Milliseconds by which clocks of the zone are ahead of UTC. */
function offsetAt(moment: number, timeZone: string): number {
  try {
    // Swedes write dates as ISO 8601 does.
    const local = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone }).format(
      moment,
    );
    return Date.parse(`${local.replace(' ', 'T')}Z`) - moment;
  } catch {
    return 0;
  }
}
