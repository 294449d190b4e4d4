import { expect, test } from 'vitest';
import { crawlerOf } from '../../../plugins/presence/crawlers.ts';

test.each([
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'Googlebot'],
  [
    'Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 Chrome/99 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Googlebot',
  ],
  ['Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)', 'GPTBot'],
  ['DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)', 'DuckDuckBot'],
  ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', 'facebookexternalhit'],
  ['Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)', 'Yahoo! Slurp'],
  ['Mozilla/5.0 <script>alert(1)</script>bot', 'Other bots'],
  ['buy-pills-at-example-org-bot/1.0', 'Other bots'],
  ['curl/8.5.0', 'Other bots'],
  [`${'a'.repeat(300)}bot`, 'Other bots'],
])('%s is %s', (agent, name) => expect(crawlerOf(agent)).toBe(name));

test.each([
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile Safari/537.36',
  'node',
  '',
])('%s is no known crawler', (agent) => expect(crawlerOf(agent)).toBeUndefined());
