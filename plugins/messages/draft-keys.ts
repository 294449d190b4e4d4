/** Keys under which drafts of messages are kept, in the browser and elsewhere. */
export const replyKey = (conversationId: string): string => `message-${conversationId}`;
export const editKey = (messageId: string): string => `message-edit-${messageId}`;

/**
 * Each whom the address of the form names, with or without the `@`, has one of their own, so that what was meant for one
 * does not go to another.
 */
export function newKey(to: string): string {
  const name = to.trim().replace(/^@/, '').toLowerCase();
  return name === '' ? 'message-new' : `message-new-${name}`;
}

/** Of all forms in which a message to these may have been begun. */
export const newKeys = (to: readonly string[]): readonly string[] => ['', ...to].map(newKey);
