import { defineToken } from 'parley-forum';

/** A whole private conversation to import, such as from another forum. */
export interface ImportedConversation {
  readonly subject: string;
  readonly participants: readonly {
    readonly userId: string;
    /** Number of the last message that they have read, from 1; default: all. */
    readonly readNumber?: number | undefined;
  }[];
  /** In order, one at least; who began it wrote the first. */
  readonly messages: readonly {
    readonly authorId: string;
    readonly content: string;
    /** It is stored as it is: it must come from `Markdown.render`. */
    readonly html: string;
    readonly createdAt: Date;
  }[];
}
/** Imports private conversations. Raises no action, notifies nobody and checks no permissions. */
export interface ConversationImporter {
  /** All in one transaction. */
  importConversations(conversations: readonly ImportedConversation[]): Promise<void>;
}
export const ConversationImporter = defineToken<ConversationImporter>('ConversationImporter');
