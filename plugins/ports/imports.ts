import { defineToken } from 'parley-forum';

/** Which categories ask for answers, for programs that make categories; administrators say it in the category's form. */
export interface Answers {
  ask(categoryId: string, asks: boolean): Promise<void>;
}
export const Answers = defineToken<Answers>('Answers');

/** A private conversation that was held elsewhere. */
export interface ImportedConversation {
  readonly subject: string;
  /** Each has read what was written until then. */
  readonly participants: readonly { readonly userId: string; readonly readAt: Date }[];
  /** One at least, the oldest first; `content` is Markdown. */
  readonly messages: readonly { readonly authorId: string; readonly content: string; readonly createdAt: Date }[];
}
/** Private conversations, for programs that bring a whole community. */
export interface Conversations {
  /** All in one transaction. Nobody is notified. */
  import(conversations: readonly ImportedConversation[]): Promise<void>;
}
export const Conversations = defineToken<Conversations>('Conversations');
