#!/bin/sh
# What became of a Job: running, success or failed, as Snakemake expects of it. One that is gone has failed; where
# Kubernetes does not answer, nothing is known yet.
if said=$(kubectl get "$1" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}' 2>&1); then
    case "$said" in
        *Failed*) echo failed ;;
        *Complete*) echo success ;;
        *) echo running ;;
    esac
else
    case "$said" in
        *NotFound*) echo failed ;;
        *) echo running ;;
    esac
fi
