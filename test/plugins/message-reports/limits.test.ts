import { expect, test } from 'vitest';
import { useMessageReports } from './forum.ts';

const { write, send } = useMessageReports({ 'message-reports.rate_limit': 2 });

test('a member can report a limited number of messages per hour, not counting repeated reports', async () => {
  const messages: string[] = [];
  for (let count = 0; count < 3; count++) messages.push((await write('ada', ['bob'], `Message ${count}`)).id);
  for (const message of [messages[0]!, messages[0]!, messages[0]!, messages[1]!])
    expect((await send('bob', message)).status).toBe(201);
  const refused = await send('bob', messages[2]!);
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await send('bob', messages[1]!)).status).toBe(201);
});
