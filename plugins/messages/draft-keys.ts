/** Keys under which drafts of messages are kept, in the browser and elsewhere. */
export const replyKey = (conversationId: string): string => `message-${conversationId}`;
export const editKey = (messageId: string): string => `message-edit-${messageId}`;

/** Each whom the address of the form names has one of their own, so that what was meant for one does not go to another. */
export const newKey = (to: string): string => (to === '' ? 'message-new' : `message-new-${to.toLowerCase()}`);

/** Of all forms in which a message to these may have been begun. */
export const newKeys = (to: readonly string[]): readonly string[] =>
  ['', ...to.map((name) => name.trim().replace(/^@/, ''))].map(newKey);
