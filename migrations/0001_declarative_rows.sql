CREATE TABLE `deny_list_entries` (
	`id` text PRIMARY KEY NOT NULL,
	`trusted_issuer_id` text NOT NULL,
	`member` text NOT NULL,
	`value` text NOT NULL,
	`reason` text NOT NULL,
	`expires_at` integer,
	`managed_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`trusted_issuer_id`) REFERENCES `trusted_issuers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deny_list_entries_unique` ON `deny_list_entries` (`trusted_issuer_id`,`member`,`value`,`managed_by`);--> statement-breakpoint
CREATE INDEX `deny_list_entries_created_at` ON `deny_list_entries` (`created_at`,`id`);--> statement-breakpoint
ALTER TABLE `workload_bindings` ADD `managed_by` text DEFAULT 'api' NOT NULL;