import { defineToken } from '#core';

export interface Message {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Made of templates or the sanitiser; without it the mail is plain text. */
  readonly html?: string;
  /** For `List-Unsubscribe`: an absolute address that ends this kind of mail in one click. */
  readonly unsubscribe?: string;
  /** Equal keys are sent once, so that a repeated job sends nothing twice. */
  readonly key?: string;
}

/** Post: over the setting `mail.smtp_url`, or as a file each under DATA_DIR/mail where none is set. */
export interface Mail {
  /** Stored in the transaction under way; sent afterwards, tried again while the server refuses. Addresses and texts are never logged. */
  send(message: Message): Promise<void>;
}
export const Mail = defineToken<Mail>('Mail');
