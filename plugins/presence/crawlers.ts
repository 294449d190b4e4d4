import { isbot } from 'isbot';

/** The names that are shown; any other user agent cannot put a name of its own on the page. */
const KNOWN_CRAWLERS = [
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
/** Named so, the crawlers that have no name here. */
export const OTHER_BOTS = 'Other bots';
/** Characters of a user agent that are read. */
const MAX_USER_AGENT_LENGTH = 512;
/** Node's own `fetch`: a script, and no crawler. */
const NODE_FETCH = 'node';

/**
 * The name of a well-known crawler, one name for all others, or undefined for people and unknown programs.
 */
export function crawlerOf(userAgent: string): string | undefined {
  const read = userAgent.slice(0, MAX_USER_AGENT_LENGTH);
  if (read === NODE_FETCH || !isbot(read)) return undefined;
  const text = read.toLowerCase();
  return KNOWN_CRAWLERS.find((name) => text.includes(name.toLowerCase())) ?? OTHER_BOTS;
}
