import { describe, expect, test, vi } from 'vitest';
import { useWebhooks, settled } from './forum.ts';
import { verify } from './receiver.ts';

const forum = useWebhooks({ 'webhooks.retry_delays': [1, 1], 'webhooks.retry_jitter': 0 });

describe('an event', () => {
  test('goes to every webhook that asked for it, signed so that the published library accepts it', async () => {
    const receiver = await forum.receiver();
    const webhook = await forum.add(receiver.url);
    expect(webhook.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { id } = await forum.start('Told at once');
    await vi.waitFor(() => expect(receiver.received).toHaveLength(1));
    const [request] = receiver.received;
    console.log(request);
    expect(verify(webhook.secret, request!)).toEqual(request!.body);
    await settled(forum.app);
    console.log(await forum.history());
    expect(id).toBeTruthy();
  });
});
