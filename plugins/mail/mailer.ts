import type { Clock, Environment, Logger, Settings } from 'parley-forum';
import type { MessageStore, RenderedMessage } from './message-store.ts';
import { MessageRejected, type Transport } from './transport.ts';

export interface MailerDeps {
  readonly messages: MessageStore;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly log: Logger;
  readonly transport: Transport;
}

/** Delivers stored emails to the mail server. */
export class Mailer {
  readonly #deps: MailerDeps;

  constructor(deps: MailerDeps) {
    this.#deps = deps;
  }

  /**
   * Throws if delivery may succeed later. A mail has the same Message-ID at every attempt, so that receivers can detect
   * duplicates.
   */
  async deliver(id: string): Promise<void> {
    const { messages, log, transport } = this.#deps;
    const message = await messages.pending(id);
    if (!message) return;
    try {
      await transport.deliver(id, this.#compose(id, message));
    } catch (error) {
      if (!(error instanceof MessageRejected)) throw error;
      log.warn({ mail: id, code: error.code }, 'a mail was not delivered: the mail server rejected it permanently');
      return messages.close(id, error.code);
    }
    await messages.close(id);
  }

  #compose(id: string, { to, subject, text, html, unsubscribe, thread }: RenderedMessage) {
    const { environment, clock, settings } = this.#deps;
    const host = new URL(environment.baseUrl).hostname;
    const from = environment.mailFrom ?? `noreply@${host}`;
    return {
      // As objects, because in a string a comma would start another address.
      from: { name: String(settings.get('site.name') ?? ''), address: from },
      to: { name: '', address: to },
      subject,
      text,
      ...(html !== undefined && { html }),
      messageId: `<${id}@${host}>`,
      // The first email of a thread is never sent; all emails of the thread refer to it.
      ...(thread !== undefined && {
        inReplyTo: `<thread.${thread}@${host}>`,
        references: `<thread.${thread}@${host}>`,
      }),
      date: new Date(clock.now()),
      headers: {
        'Auto-Submitted': 'auto-generated',
        ...(unsubscribe !== undefined && {
          'List-Id': `<${host}>`,
          'List-Unsubscribe': `<${unsubscribe}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        }),
      },
    };
  }
}
