import { isbot } from 'isbot';

/** Those that are named; whoever sends another name does not get to write on the page of who is here. */
const NAMED = [
  'Googlebot',
  'AdsBot-Google',
  'Google-InspectionTool',
  'GoogleOther',
  'bingbot',
  'DuckDuckBot',
  'DuckAssistBot',
  'YandexBot',
  'Baiduspider',
  'Applebot',
  'Yahoo! Slurp',
  'SeznamBot',
  'Qwantbot',
  'PetalBot',
  'MojeekBot',
  'Sogou web spider',
  'GPTBot',
  'OAI-SearchBot',
  'ChatGPT-User',
  'ClaudeBot',
  'Claude-User',
  'PerplexityBot',
  'CCBot',
  'Amazonbot',
  'Bytespider',
  'meta-externalagent',
  'facebookexternalhit',
  'Twitterbot',
  'LinkedInBot',
  'Slackbot',
  'Discordbot',
  'TelegramBot',
  'WhatsApp',
  'Pinterestbot',
  'redditbot',
  'Mastodon',
  'archive.org_bot',
  'AhrefsBot',
  'SemrushBot',
  'MJ12bot',
  'DotBot',
  'UptimeRobot',
  'Feedly',
  'Inoreader',
] as const;
const OTHERS = 'Other bots';
/** Characters of a user agent that are looked at. */
const READ = 512;
/** Node's own `fetch`: a program that somebody wrote, and no crawler. */
const PLAIN = 'node';

/**
 * The name of a well-known crawler, one name for all others, or undefined for people and for programs that nobody
 * knows.
 */
export function crawlerOf(userAgent: string): string | undefined {
  const read = userAgent.slice(0, READ);
  if (read === PLAIN || !isbot(read)) return undefined;
  const text = read.toLowerCase();
  return NAMED.find((name) => text.includes(name.toLowerCase())) ?? OTHERS;
}
