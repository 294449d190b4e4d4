import { defineAction, definePermission } from 'parley-forum';

/** What a service sent to POST /api/webhooks with a valid signature. */
export interface ReceivedWebhook {
  /** The sender's `webhook-id`, or one of ours where there was none. */
  readonly id: string;
  readonly payload: unknown;
  /** Names in lower case; without cookies and credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly receivedAt: string;
}
/** Raised in a transaction, once for each id in 24 hours; a durable listener never misses one. */
export const webhookReceived = defineAction<ReceivedWebhook>('webhook.received');

/**
 * Why a webhook was switched off automatically: its URL returned 410, or it failed for days.
 */
export const DISABLED_REASONS = ['gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];
/** A webhook was switched off by itself, since its receiver is gone or keeps failing. */
export const webhookDisabled = defineAction<{
  readonly webhook: { readonly id: string; readonly name: string; readonly reason: DisabledReason };
}>('webhook.disabled');

/**
 * An administrator created or changed a webhook. Only the host of its URL: the rest may contain a key of the
 * receiver's.
 */
export const webhookSaved = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: { readonly id: string; readonly name: string; readonly host: string; readonly active: boolean };
}>('webhook.saved');
/** An administrator deleted a webhook. */
export const webhookDeleted = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: { readonly id: string; readonly name: string };
}>('webhook.deleted');
/** A webhook has a new secret. */
export const webhookSecretRotated = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: { readonly id: string };
}>('webhook.secret-rotated');
/** A test is about to be sent, whether or not the webhook is switched on. */
export const webhookTested = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: { readonly id: string };
}>('webhook.tested');
/** Deliveries are sent again, of one webhook or of all. */
export const webhookRedelivered = defineAction<{
  readonly actor: string | undefined;
  readonly webhook: string | undefined;
  readonly count: number;
}>('webhook.redelivered');

/**
 * State of an attempt. `retrying`: it failed and another one follows at `next_attempt_at`, or has followed;
 * `failed`: it was the last; `blocked`: the URL may not be reached from here; `disabled`: the webhook was switched off
 * instead, or returned 410.
 */
export const STATUSES = ['pending', 'delivered', 'failed', 'retrying', 'blocked', 'disabled'] as const;
export type Status = (typeof STATUSES)[number];

export interface WebhookRecord {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly active: boolean;
  /** Ids; empty: all. Events without a category are sent in any case. */
  readonly categories: readonly string[];
  readonly last_status: Status | null;
  readonly last_delivery_at: string | null;
}
/** One attempt to deliver one event to one webhook. */
export interface DeliveryRecord {
  readonly id: string;
  /** The same for all attempts: what receivers see as `webhook-id`. */
  readonly event_id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly status: Status;
  /** Which attempt this is, from 1, and how many there will be at most. */
  readonly attempt: number;
  readonly attempts: number;
  readonly response_status: number | null;
  readonly duration_ms: number | null;
  readonly next_attempt_at: string | null;
  readonly error: string | null;
  readonly created_at: string;
}
/** One hour of attempts; milliseconds cover attempts with a response. */
export interface HourRecord {
  readonly hour: string;
  readonly delivered: number;
  readonly failed: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}
export interface StatisticsRecord {
  /** Attempts. */
  readonly deliveries: number;
  readonly delivered: number;
  readonly failed: number;
  /** Events that wait for their first or a further attempt now. */
  readonly pending: number;
  /** From 0 to 1, of the attempts that ended; null while there are none. */
  readonly success_rate: number | null;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** Every hour of the period, the oldest first. */
  readonly per_hour: readonly HourRecord[];
}

export const manageWebhooks = definePermission('webhooks.manage', {
  label: 'manage webhooks and see what they sent',
  default: 'admin',
});
