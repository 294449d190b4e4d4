import { defineToken } from 'parley-forum';

/**
 * Marks categories as asking for answers, for programs that create categories; administrators use the category's form.
 */
export interface Answers {
  ask(categoryId: string, asks: boolean): Promise<void>;
}
export const Answers = defineToken<Answers>('Answers');

/** A private conversation to import from another system. */
export interface ImportedConversation {
  readonly subject: string;
  /** `readAt`: the participant has read every message up to then. */
  readonly participants: readonly { readonly userId: string; readonly readAt: Date }[];
  /** At least one, oldest first; `content` is Markdown. */
  readonly messages: readonly { readonly authorId: string; readonly content: string; readonly createdAt: Date }[];
}
/** Imports private conversations, for programs that migrate a whole community. */
export interface Conversations {
  /** Imports all of them in one transaction. Nobody is notified. */
  import(conversations: readonly ImportedConversation[]): Promise<void>;
}
export const Conversations = defineToken<Conversations>('Conversations');
