import { isbot, isbotMatch } from 'isbot';

/** What crawlers call themselves. */
const NAME = /[\w-]*(?:bot|crawl|spider|slurp|archive|externalhit)[\w-]*/i;
/** Characters of a user agent that are looked at, and of a name that are shown. */
const READ = 512;
const SHOWN = 40;
/** Node's own `fetch`: a program that somebody wrote, and no crawler. */
const PLAIN = 'node';

/** The name of a known crawler, or undefined for people and for programs that nobody knows. */
export function crawlerOf(userAgent: string): string | undefined {
  const read = userAgent.slice(0, READ);
  if (read === PLAIN || !isbot(read)) return undefined;
  const name = NAME.exec(read)?.[0] ?? /^[\w .-]+/.exec(isbotMatch(read) ?? '')?.[0];
  return (name ?? 'Crawler').trim().slice(0, SHOWN);
}
