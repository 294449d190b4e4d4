import type { Clock, Environment, Logger, Settings } from 'parley-forum';
import type { Message } from 'parley-forum/plugins/mail';
import type { Messages } from './messages.ts';
import { Refused, type Transport } from './transport.ts';

export interface PostParts {
  readonly messages: Messages;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly log: Logger;
  readonly transport: Transport;
}

/** Takes kept mails to the server. */
export class Post {
  readonly #parts: PostParts;

  constructor(parts: PostParts) {
    this.#parts = parts;
  }

  /**
   * Throws where it may work another time. The same mail has the same Message-ID each time, so that a receiver can
   * tell.
   */
  async deliver(id: string): Promise<void> {
    const { messages, log, transport } = this.#parts;
    const message = await messages.waiting(id);
    if (!message) return;
    try {
      await transport.deliver(id, this.#compose(id, message));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      log.warn({ mail: id, code: error.code }, 'a mail was given up: the server will not take it');
      return messages.close(id, error.code);
    }
    await messages.close(id);
  }

  #compose(id: string, { to, subject, text, html, unsubscribe }: Message) {
    const { environment, clock, settings } = this.#parts;
    const host = new URL(environment.baseUrl).hostname;
    const from = environment.mailFrom ?? `noreply@${host}`;
    return {
      // As objects, because in a text a comma would begin another address.
      from: { name: String(settings.get('site.name') ?? ''), address: from },
      to: { name: '', address: to },
      subject,
      text,
      ...(html !== undefined && { html }),
      messageId: `<${id}@${host}>`,
      date: new Date(clock.now()),
      headers: {
        'Auto-Submitted': 'auto-generated',
        ...(unsubscribe !== undefined && {
          'List-Unsubscribe': `<${unsubscribe}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        }),
      },
    };
  }
}
