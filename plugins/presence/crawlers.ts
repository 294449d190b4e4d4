import { isbot } from 'isbot';

/** The names that can be shown; no other user agent can put a name of its own on the page. */
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
/** The name for all crawlers that are not listed here. */
export const OTHER_BOTS = 'Other bots';
/** The maximum number of characters of a user agent that are inspected. */
const MAX_USER_AGENT_LENGTH = 512;
/** Node.js's built-in `fetch`: a script, not a crawler. */
const NODE_FETCH = 'node';

/** The name of a well-known crawler, a common name for all others, or undefined for people and unknown programs. */
export function crawlerOf(userAgent: string): string | undefined {
  const read = userAgent.slice(0, MAX_USER_AGENT_LENGTH);
  if (read === NODE_FETCH || !isbot(read)) return undefined;
  const text = read.toLowerCase();
  return KNOWN_CRAWLERS.find((name) => text.includes(name.toLowerCase())) ?? OTHER_BOTS;
}
