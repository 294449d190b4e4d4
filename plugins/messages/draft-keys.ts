/** Keys under which drafts of messages are stored, in the browser and elsewhere. */
export const replyKey = (conversationId: string): string => `message-${conversationId}`;
export const editKey = (messageId: string): string => `message-edit-${messageId}`;

/**
 * A form whose URL names a recipient, with or without the `@`, has a key of its own, so that a draft meant for one
 * member is not sent to another.
 */
export function newKey(to: string): string {
  const name = to.trim().replace(/^@/, '').toLowerCase();
  return name === '' ? 'message-new' : `message-new-${name}`;
}

/** The keys of all forms in which a message to these members may have been drafted. */
export const newKeys = (to: readonly string[]): readonly string[] => ['', ...to].map(newKey);
