/** The page of a member's linked accounts. */
export const LINKED = '/settings/security/linked-accounts';
/** The page for people who come from a provider and whom no member has linked. */
export const UNKNOWN = '/login/link';
