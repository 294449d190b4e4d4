/** Where members see the accounts that they have linked. */
export const LINKED = '/settings/security/linked-accounts';
/** Where people come from a provider whom no member has linked. */
export const UNKNOWN = '/login/link';
