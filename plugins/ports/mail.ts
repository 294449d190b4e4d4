import { defineToken } from 'parley-forum';

/** An email to one person. */
export interface Message {
  readonly to: string;
  readonly subject: string;
  /** Plain text, or structured content rendered in a fixed style that does not depend on a theme. */
  readonly content: string | EmailContent;
  /** For `List-Unsubscribe`: an absolute URL that unsubscribes from this kind of email with one click. */
  readonly unsubscribe?: string;
  /** Id of the subject, such as a discussion: mail programs group emails with the same thread. */
  readonly thread?: string;
  /** Messages with equal keys are sent once, so that a retried job sends nothing twice. */
  readonly key?: string;
}

/**
 * Sends mail through the server that SMTP_URL names or, without one, writes each message to a file in DATA_DIR/mail.
 */
export interface Mail {
  /**
   * Stores any number of messages in one statement, as part of the current transaction. They are sent afterwards and
   * retried while the server refuses them. Addresses and texts are never logged.
   */
  send(...messages: readonly Message[]): Promise<void>;
  /** Resolves once no message is waiting to be sent, or after this many milliseconds. */
  drained(milliseconds: number): Promise<void>;
}
export const Mail = defineToken<Mail>('Mail');

export interface MailLink {
  readonly label: string;
  /** An absolute URL. */
  readonly href: string;
}
/** The content of an email, from top to bottom. All strings are plain text. */
export interface EmailContent {
  /** Id of the language its texts are in. */
  readonly language: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly links?: readonly MailLink[];
  /** What the reader most likely wants to do next. */
  readonly action?: MailLink;
  /** Why the recipient got this mail, and how to stop getting mails of its kind. */
  readonly reason: string;
  readonly end?: MailLink;
}
