import { defineToken } from 'parley-forum';

/** An email to one person. */
export interface Message {
  readonly to: string;
  readonly subject: string;
  /** Plain text, or what is shown in one style that depends on no theme. */
  readonly content: string | EmailContent;
  /** For `List-Unsubscribe`: an absolute URL that ends this kind of email in one click. */
  readonly unsubscribe?: string;
  /** Id of what it is about, such as a discussion: mail programs show the emails about one thing together. */
  readonly thread?: string;
  /** Equal keys are sent once, so that a repeated job sends nothing twice. */
  readonly key?: string;
}

/** Post: over the server that SMTP_URL names, or as a file each under DATA_DIR/mail where it names none. */
export interface Mail {
  /**
   * Stored in the transaction under way, any number in one statement; sent afterwards, tried again while the server
   * refuses. Addresses and texts are never logged.
   */
  send(...messages: readonly Message[]): Promise<void>;
  /** Resolves once nothing waits to be sent, or after this many milliseconds. */
  drained(milliseconds: number): Promise<void>;
}
export const Mail = defineToken<Mail>('Mail');

export interface MailLink {
  readonly label: string;
  /** An absolute URL. */
  readonly href: string;
}
/** The content of an email, from top to bottom. Everything in it is text. */
export interface EmailContent {
  /** Id of the language of its texts. */
  readonly language: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly links?: readonly MailLink[];
  /** What the reader is most likely to want next. */
  readonly action?: MailLink;
  /** Why the mail came, and how to get no more of its kind. */
  readonly reason: string;
  readonly end?: MailLink;
}
