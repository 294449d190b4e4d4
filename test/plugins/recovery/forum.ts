import { vi } from 'vitest';
import type { TestForum } from 'parley-forum/testing';
import { mailsOf, type SentMail } from '../mail/forum.ts';

export const PASSWORD = 'Quiet-harbour-42';
export const NEW_PASSWORD = 'Louder-harbour-43';
export const asJson = { accept: 'application/json' };
const TIMEOUT = { timeout: 20_000, interval: 50 };

const sentTo = async (forum: TestForum, to: string): Promise<readonly SentMail[]> =>
  (await mailsOf(forum)).filter(({ headers }) => headers['to'] === to);

/** The next mail to a member, given how many they have. */
export async function nextMail(forum: TestForum, to: string, before = 0): Promise<SentMail> {
  return vi.waitFor(async () => {
    const mail = (await sentTo(forum, to))[before];
    if (!mail) throw new Error(`${to} got no mail`);
    return mail;
  }, TIMEOUT);
}

/** The number of mails sent to an address, once pending work has finished. */
export async function mailCount(forum: TestForum, to: string): Promise<number> {
  await forum.calm();
  return (await sentTo(forum, to)).length;
}

/** The path of the link in a mail. */
export const linkIn = (mail: SentMail): string =>
  /http:\/\/(?:forum\.test|localhost)(\/(?:password\/reset|register\/confirm|settings\/security\/email\/confirm)\/[a-f0-9]{64})\b/.exec(
    mail.body,
  )![1]!;
