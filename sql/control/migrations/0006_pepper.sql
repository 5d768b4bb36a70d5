-- deploy: before
-- By what the installation knows the secret that its keys are hashed with; null until one is used.
ALTER TABLE instance ADD COLUMN pepper_mark text;
