import { definePermission, defineToken } from 'parley-forum';

/** An entry as administrators see it. */
export interface AuditRecord {
  readonly id: string;
  readonly action: string;
  /** Null if nobody was logged in; `username` is null if the account no longer exists. */
  readonly actor: { readonly id: string; readonly username: string | null } | null;
  /** `username` is given if the subject is an existing account. */
  readonly subject: { readonly type: string; readonly id: string; readonly username?: string } | null;
  readonly address: string | null;
  readonly details: Readonly<Record<string, string | number | boolean>>;
  readonly created_at: string;
}

/** The result of checking the whole log. */
export interface VerificationResult {
  /** Entries that were checked. */
  readonly entries: number;
  /** The position of the first entry that was altered, or before which entries are missing. */
  readonly broken: number | undefined;
}
/** The entries of the audit log, and whether they have been tampered with. */
export interface AuditLog {
  /** Reads the whole log in parts and recomputes every seal. */
  verify(): Promise<VerificationResult>;
}
export const AuditLog = defineToken<AuditLog>('AuditLog');

export const readAudit = definePermission('audit.read', { label: 'read the audit log', default: 'admin' });
